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
    out = torch.empty_like(x).reshape(-1)
    for i, v in enumerate(x.detach().reshape(-1)):
        leaf = v.clone().requires_grad_()
        Cube.apply(leaf).backward()
        out[i] = leaf.grad
    return out.reshape(x.shape)
