"""The steps of which `flow_programs.py` makes programs, each a template that is told there."""

STEPS = """
{V1} = {n}
--
{V1} = {n}
--
{V1}, {V2} = {n}, {n}
--
{V1} = {V2} = {n}
--
{V1}, *{L1} = {n}, {n}, *x[:2]
--
*{L1}, {V1} = ({n}, {n}, {n})
--
({V1}, {V2}), {V3} = ({n}, {n}), {n}
--
{K1} = {i}
--
{S1} = {t}
--
{S1} = None
if {c}:
    {S1} = {t}
    {B}
--
{N} {op} {n}
--
{N} = {n}
--
{N}, {M} = {M}, {N}
--
x[{i} % 4] {op} {n}
--
x[{i}] {op} 0.5
--
x[1:3] {op} {n}
--
x *= 0.75
--
{W1} = x[{i} % 3:]
--
{W1} = x * {n}
--
{W1} = x
{B}
{W1} {op} 0.5
--
{L1} = [{n}, {n}]
{L1}.append({n})
--
{L1} = [v * {n} for v in x]
--
{V1} = {r}
--
try:
    {V1} = {r}
except {E}:
    {V2} = {n}
    {B}
--
try:
    {B}
    {V1} = {r}
    {B}
except {E}:
    {B}
--
try:
    {V1} = {r}
    {B}
except {E} as e:
    {V1} = {n}
    {B}
except {E}:
    {V2} = {n}
    {J}
else:
    {B}
finally:
    {B}
--
try:
    if {c}:
        raise {R}
    {B}
except Trouble as e:
    {V1} = e.weight + len(e.args)
except Exception as e:
    {V1} = len(e.args) + 0.5
--
try:
    if {c}:
        raise Trouble(0.75, "u")
    {V1} = {n}
except Trouble as e:
    {V1} = e.size
    {V2} = e.args[1] + 0.25
    {S1} = e.name
--
try:
    try:
        {B}
        {V1} = {r}
    finally:
        {V2} = {n}
        {B}
except {E}:
    {V3} = {n}
--
try:
    try:
        {V1} = {r}
    except {E} as e:
        {B}
        raise {R} from e
    except {E}:
        {B}
        raise
except {E}:
    {V2} = {n}
--
for {K1} in range({i}):
    try:
        {B}
        if {c}:
            {J}
        {V1} = {r}
    except {E}:
        {B}
        {J}
    finally:
        {B}
else:
    {V2} = {n}
--
for {K1} in range(k):
    {B}
    if {c}:
        {J}
    {B}
else:
    {B}
--
for {K1} in range({i}):
    for {K2} in range(k):
        {B}
        if {c}:
            {J}
    else:
        {B}
        continue
    {B}
    break
else:
    {V1} = {n}
--
for {K1}, {V1} in enumerate(x):
    {B}
    if {c}:
        {J}
--
for {V1} in items({i}, {n}):
    {B}
    if {c}:
        {J}
--
for {V1}, {V2} in zip(x, ({n}, {n}, {n})):
    {B}
--
for {V1} in ({n}, {n}, k):
    if {c}:
        {J}
    {B}
--
{K1} = {i}
while {K1} > 0:
    {K1} -= 1
    {B}
    if {c}:
        {J}
    {V1} = {n}
else:
    {B}
--
{K1} = 0
while True:
    {K1} += 1
    {B}
    if {K1} > k or {c}:
        break
    {B}
--
{K1} = 0
while ({V1} := {n}) < 2.0 and {K1} < 4:
    {K1} += 1
    {B}
--
if {c}:
    {B}
elif {c}:
    {V1} = {n}
    {B}
else:
    {B}
--
if {c}:
    {V1} = {n}
else:
    {V1} = {i}
--
if {c}:
    {V1} = {n}
--
{V1} = {n}
if {c}:
    del {V1}
--
for {K1} in range(k):
    if {c}:
        {V1} = {n}
    else:
        {V1} = {i}
--
if {c}:
    {J}
--
match {i}:
    case 0:
        {B}
    case 1 | 2:
        {V1} = {n}
    case {K1} if {c}:
        {V2} = {K1} * 0.5
    case _:
        {B}
--
match ({i}, {n}):
    case (0, {V1}):
        {B}
    case ({K1}, {V2}) if {V2} > 0.2:
        {V3} = {n}
--
match {t}:
    case "big":
        {V1} = {n}
        {B}
    case None:
        {V2} = {n}
    case {S1}:
        {B}
--
assert {c}
--
try:
    assert {c}, "not"
    {V1} = {n}
except AssertionError:
    {V2} = {n}
--
with contextlib.suppress({E}):
    {B}
    {V1} = {r}
    {B}
--
with held(x, {n}) as {V1}:
    {B}
--
with Scope(x, {n}) as e:
    {V1} = e.u
    {B}
    if {c}:
        {J}
--
global COUNT
COUNT = {n}
{V1} = COUNT * 2
{B}
{V2} = COUNT + 1
COUNT = 0.0
--
def {F1}({A1}, b=0.5):
    {B}
    if {c}:
        return {n}
    return {n} * b
{V1} = {F1}({n})
{B}
{V2} = {F1}({n}, {n})
--
def {F1}({A1}, *args, c={n}, **kwargs):
    nonlocal_{N}
    {N} = {n} * 0.5
    {B}
    return {N} + c + sum(args) + len(kwargs)
{V1} = {F1}({n}, {n}, q=1)
{B}
{V2} = through({F1}, {n}, c=0.25)
--
{V1} = {n}
def {F1}({A1}):
    nonlocal {V1}
    {V1} = {V1} * 0.5 + {n}
    if {c}:
        raise Trouble({A1})
    return {V1} + {A1}
try:
    {V2} = {F1}({n}) + {F1}({n})
except Trouble:
    {V3} = {V1} + 0.125
--
def {F1}({A1}):
    return {n} + {A1}
--
{F1} = lambda a, b={n}: a * b + {n}
--
{F1} = (lambda a: a * {n}) if {c} else root
--
{F1} = None
if {c}:
    {F1} = careful
{B}
--
{L1} = []
for {K1} in range(3):
    {L1}.append(lambda a, j={K1}: a * j + {n})
{V1} = {L1}[0]({n}) + {L1}[2]({n})
{L1} = [{V1}]
--
{F1} = careful
for {K1} in (1, 2, 3):
    {F1} = lambda a, j={K1}: a * j + {K1}
    {B}
--
for {K1} in range(k):
    def {F1}({A1}):
        return {A1} * {K1} + {n}
    {V1} = {F1}({n})
    {B}
--
def {G1}({A1}):
    for j in range(k + 1):
        {B}
        if {c}:
            return
        yield {n} + j
    yield {n}
for {V1} in {G1}({n}):
    {B}
    if {c}:
        {J}
--
def {G1}({A1}):
    yield {n}
    yield from items({i}, {A1})
    {B}
    yield {n}
{V1} = sum({G1}({n}))
{L1} = list({G1}({n}))
--
@twice
def {F1}({A1}, /, *, m=1):
    {B}
    return {n} * m
{V1} = {F1}({n}, m={i})
--
def {H1}({A1}, m):
    if m <= 0 or {c}:
        return {n}
    return {H1}({A1} * 0.5, m - 1) + {A1}
{V1} = {H1}({n}, k)
--
{V1} = {n}
{V2} = {n}
if ({K1} := {i}) > 1:
    {V1}, {V2} = {V2}, {V1} + {K1}
    {B}
--
{K1}, {V1} = search(x, {n})
--
{F1} = functools.partial({Q}, {n})
"""
