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


def cube_grad(x):
    leaf = x.detach().double().requires_grad_()
    Cube.apply(leaf).sum().backward()
    return leaf.grad
