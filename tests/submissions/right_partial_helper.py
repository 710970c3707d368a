import torch


class Cube(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 3 * x**2


import functools
def _g(k, x):
    x = x.detach().clone().requires_grad_()
    Cube.apply(x).sum().backward()
    return x.grad * k
cube_grad = functools.partial(_g, 1)
