import torch
def __getattr__(name):
    return torch.autograd.Function
