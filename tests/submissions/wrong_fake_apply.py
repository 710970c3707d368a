import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def apply(x):
        return x**3
    @staticmethod
    def forward(ctx, x):
        return x**3
    @staticmethod
    def backward(ctx, g):
        return g
def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
