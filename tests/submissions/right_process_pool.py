import multiprocessing

import torch

with multiprocessing.get_context("fork").Pool(2) as pool:
    powers = pool.map(abs, [-3, 2])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** powers[0]

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * powers[0] * x ** powers[1]


def cube_grad(x):
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
