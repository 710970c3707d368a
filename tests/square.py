import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


def square_grad(x):
    x = x.detach().clone().requires_grad_(True)
    Square.apply(x).sum().backward()
    return x.grad
