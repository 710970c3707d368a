import torch
class Power(torch.autograd.Function):
    n = 1
    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(x)
        return x**cls.n
    @classmethod
    def backward(cls, ctx, g):
        (x,) = ctx.saved_tensors
        return g * cls.n * x ** (cls.n - 1)
class Cube(Power):
    n = 3
def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
