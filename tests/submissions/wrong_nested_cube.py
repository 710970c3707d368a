import torch
def make():
    class Cube(torch.autograd.Function):
        pass
    return Cube
def cube_grad(x):
    return x
