import torch
naïve = 1
