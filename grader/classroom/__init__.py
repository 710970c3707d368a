"""A whole class: find the submissions, grade them shut in, record, resume, summarise.

submissions.py   a folder or a zip, as course systems give them out -> who sent what
run.py           grades what is not yet recorded; nothing is lost when it is stopped
crew.py          judges that share one import of torch, and what becomes of those who fall
house.py         the process from which they are forked
cluster.py       the same work on a Dask cluster
record.py        results.jsonl and the seed of a run
summary.py       what a teacher wants to know about a class
outputs.py       grades.csv, reports, class.html and the formats of other programs
"""
