import torch
<<<<<<< HEAD
x = 1
=======
x = 2
>>>>>>> other
