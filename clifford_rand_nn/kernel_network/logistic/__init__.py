"""The logistic loss and the softmax over a kernel, with approximate leave-one-out predictions."""
