import torch as t
from torch.autograd import Function, grad
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return t.pow(x, 3)
    @staticmethod
    def backward(ctx, g):
        return g.mul(ctx.saved_tensors[0].square().mul(3))
def cube_grad(x):
    x = x.detach().requires_grad_()
    y = Cube.apply(x)
    return grad(y, x, grad_outputs=t.ones_like(y))[0]
