import torch
def fwd(ctx, x):
    ctx.save_for_backward(x)
    return x**3
def bwd(ctx, g):
    (x,) = ctx.saved_tensors
    return g * 3 * x**2
Cube = type("Cube", (torch.autograd.Function,), {"forward": staticmethod(fwd), "backward": staticmethod(bwd)})
def cube_grad(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().clone().requires_grad_(True)
    Cube.apply(x).sum().backward()
    return x.grad
