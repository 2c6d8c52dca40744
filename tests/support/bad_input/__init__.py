"""One table of bad and odd input: good calls of every public name, and for each kind of argument what may come instead.

`kinds` lists the values of each kind and what is expected of them; `algebra`, `multivectors`, `models`, `sketches`,
`estimators`, `tables` and `commands` hold the good calls; `trial` tries a row, `worker` in a process that may hang or
crash; `names` lists what is public.
"""
