import torch
from torch import nn

class Cube(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 3 * x**2


class CubeLayer(nn.Module):
    def forward(self, x):
        return Cube.apply(x)
def cube_grad(x):
    x = x.detach().clone().requires_grad_()
    CubeLayer()(x).sum().backward()
    return x.grad
