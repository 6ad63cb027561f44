"""Three scenarios of run-time arenas: a story in three runs, how they end, and a lesson about lent outputs.

Each operation has a line for those who have not read how arenas work.
"""
KIB = 1024


def op(kind, note=None, **keys):
    made = dict(op=kind, **{'as' if k == 'held' else k: v for k, v in keys.items()})
    if note:
        made['note'] = note
    return made


def alloc(arena, h, kib, note=None):
    return op('alloc', note, arena=arena, h=h, bytes=int(kib * KIB))


def write(h, value, note=None):
    return op('write', note, h=h, value=value)


def free(h, note=None):
    return op('free', note, h=h)


def scenario(arenas, events, **words):
    return {'format': 'memplan-arena', 'version': 1, 'mode': 'hardened', 'arenas': arenas, 'events': events, **words}


def story():
    run_1 = [
        op('borrow', 'An input that is only read where it lies is the caller\'s: it is in no arena, and nothing is copied.',
           h='x', bytes=4 * KIB, value='prompt'),
        alloc('exec', 'h', 32, 'What one node makes for the next comes from the execution arena.'),
        alloc('exec', 'work', 16, 'So does what a kernel needs while it runs, even when it makes an output of the graph.'),
        free('work', 'The kernel is over. The block is not given to the system: the arena retains it, free.'),
        alloc('exec', 'g', 12, 'The smallest free block that is enough. What is left over is slack, and counts neither as live nor '
              'as retained.'),
        alloc('io', 'y1', 8, 'y is an output of the graph: it comes from the I/O arena, so that it can be lent without a copy.'),
        write('y1', 'answer 1'),
        free('h', 'Its last reader has run.'),
        free('g'),
        op('export', 'Somebody outside keeps the output. No byte moves: the block now belongs to a lease, and the lease keeps the '
           'arena, whatever becomes of the session.', h='y1', held='array1'),
        op('clear', 'What nobody outside holds goes back; array1 stays as it is.'),
    ]
    run_2 = [
        alloc('exec', 'h', 32, 'Warmed up: the same sizes find their blocks again, and nothing is asked of the system.'),
        alloc('exec', 'g', 12),
        alloc('io', 'y2', 8, 'The first output\'s block is lent, so this run costs one block more. Once.'),
        write('y2', 'answer 2'),
        op('export', None, h='y2', held='array2'),
        op('export', 'A second holder of the same block, a view perhaps. Nothing is copied here either.', h='y2', held='view2'),
        free('h'),
        free('g'),
        op('clear'),
        op('read', 'Run 2 left it alone.', held='array1', expect='answer 1'),
        op('drop', 'The last holder lets go, and only now the block is free.', held='array1'),
        op('drop', 'view2 has it still.', held='array2'),
    ]
    run_3 = [
        alloc('io', 'y3', 8, 'The block that array1 had.'),
        write('y3', 'answer 3'),
        alloc('exec', 'spike', 80, 'A larger one than any that is free.'),
        free('spike', 'The execution arena may retain 96 KiB; 128 KiB would be free. The I/O arena loses nothing: each has its own cap.'),
        alloc('exec', 'h', 32, 'Its old block is gone, and the smallest that is enough is the large one: much slack.'),
        free('h'),
        op('clear'),
        op('release', 'The caller takes its memory back. No arena ever had it.', h='x'),
        op('trim', 'After a spike: free blocks go back to the system. What is lent stays.'),
        op('read', None, held='view2', expect='answer 2'),
        op('drop', 'The last one. If the session had gone before, the arena would go now.', held='view2'),
    ]
    return scenario({'exec': {'cap': 96 * KIB, 'slots': 4}, 'io': {'cap': 64 * KIB}}, run_1 + run_2 + run_3,
                    note='Three runs on two arenas, step by step: where each value\'s block comes from, who owns it, and when it is free '
                    'again. Step on and read what each operation did and why.')


def shutdown():
    return scenario({'exec': {}, 'io': {}}, [
        alloc('exec', 'h', 16, 'The session has a value of its own.'),
        alloc('io', 'y', 8, 'And an output of the graph.'),
        write('y', 'answer'),
        op('export', 'Somebody outside has the output now. Its lease refers to the arena, as the session does.', h='y', held='array'),
        op('export', 'A view of it: a second lease.', h='y', held='view'),
        op('clear', 'The context goes first: h is owned by a plain handle, which holds no reference, so exec must outlive it. The output '
           'is lent and stays.'),
        op('close', 'The session lets go of exec. Nobody else has anything of it: it is gone.', arena='exec'),
        op('close', 'And of io. Two leases keep it alive.', arena='io'),
        op('read', 'The bytes are there, though the session is not.', held='array', expect='answer'),
        op('drop', 'One lease less: the block goes to nobody yet.', held='array'),
        op('drop', 'The last lease gives the block back first and lets go of the arena then, which takes it along.', held='view'),
    ], note='How two arenas end: the context, the session and the arrays go one after the other, and what is still held keeps its arena.')


def lent():
    return scenario({'exec': {}, 'io': {}}, [
        alloc('io', 'y1', 4),
        write('y1', 'run 1'),
        op('export', None, h='y1', held='kept'),
        op('clear'),
        alloc('io', 'y2', 4),
        write('y2', 'run 2'),
        op('clear'),
        op('read', None, held='kept', expect='run 1'),
        op('drop', None, held='kept'),
        alloc('io', 'y3', 4),
        write('y3', 'run 3'),
        op('clear'),
    ], lesson=['Run 2 makes an output of the same size as run 1. Why does it not write over the one that somebody kept?',
               'Step to "export" and see who owns the block then; then which blocks y2 and y3 get.',
               'A lent block is in no list of free blocks, so no search finds it: y2 gets a new one. It is free when its last holder '
               'lets go, and of two free blocks of one size the one freed last is taken: y3 lies where run 1\'s output lay.'])
