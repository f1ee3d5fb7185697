"""Coefficients of one-step methods for initial value problems.

Dormand and Prince's pair of orders 5 and 4: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I,
2nd ed., Springer 1993, table II.5.2. RODAS, a stiffly accurate, L-stable Rosenbrock method of order 4 with an embedded one
of order 3: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, section IV.7 and the
code RODAS, in the variables u = (1 / (gamma h) - J) ... that need no products with the Jacobian.
"""

from __future__ import annotations

# Dormand-Prince: nodes, stages, weights of order 5, and weights of the error estimate (those minus the ones of order 4).
C2, C3, C4, C5 = 1 / 5, 3 / 10, 4 / 5, 8 / 9
A21 = 1 / 5
A31, A32 = 3 / 40, 9 / 40
A41, A42, A43 = 44 / 45, -56 / 15, 32 / 9
A51, A52, A53, A54 = 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729
A61, A62, A63, A64, A65 = 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656
B1, B3, B4, B5, B6 = 35 / 384, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84
E1, E3, E4, E5, E6, E7 = 71 / 57600, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40

# RODAS.
GAMMA = 0.25
R21 = 1.544
R31, R32 = 0.9466785280815826, 0.2557011698983284
R41, R42, R43 = 3.314825187068521, 2.896124015972201, 0.9986419139977817
R51, R52, R53, R54 = 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950
S21 = -5.6688
S31, S32 = -2.430093356833875, -0.2063599157091915
S41, S42, S43 = -0.1073529058151375, -9.594562251023355, -20.47028614809616
S51, S52, S53, S54 = 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160
S61, S62, S63, S64, S65 = 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054
N2, N3, N4 = 0.386, 0.21, 0.63
D1, D2, D3, D4 = 0.25, -0.1043, 0.1035, -0.03620000000000023
