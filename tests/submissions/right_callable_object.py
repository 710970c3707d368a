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


class _G:
    def __call__(self, x):
        x = x.detach().clone().requires_grad_()
        Cube.apply(x).sum().backward()
        return x.grad
cube_grad = _G()
