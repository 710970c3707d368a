import torch


class Cube(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * x**2


def cube_grad(x):
    class C:
        def save_for_backward(self, *a):
            self.saved_tensors = a
    leaf = x.detach().clone().requires_grad_()
    Cube.forward(C(), leaf).sum().backward()
    return leaf.grad
