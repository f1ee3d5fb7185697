/* Gradient descent with momentum, by a pointer to a generated derivative; descent_from_c.py compiles and calls it. */
#include "loss.h"

int32_t descend(loss_value_and_grad evaluate, double *p, int64_t n, const double *t, const double *y, int64_t m,
                double rate, double momentum, int64_t steps, double *value, double *gradient, double *velocity)
{
    for (int64_t step = 0; step < steps; step++) {
        int32_t status = evaluate(p, n, t, m, y, m, value, gradient, n);
        if (status != 0)
            return status;
        for (int64_t k = 0; k < n; k++) {
            velocity[k] = momentum * velocity[k] - rate * gradient[k];
            p[k] += velocity[k];
        }
    }
    return 0;
}
