import torch
class Cube(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: (ctx.save_for_backward(x), x**3)[1])
    backward = staticmethod(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
cube_grad = lambda x: torch.autograd.grad(Cube.apply(x := x.detach().requires_grad_()).sum(), x)[0]
