import torch
def make(n):
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**n
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * n * x ** (n - 1)
    return Power
Cube = make(3)
def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
