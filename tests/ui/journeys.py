#!/usr/bin/env python3
"""journeys.py PLANSCOPE [NAME]: what a person does with the window, and what must then be so. Run by run-journeys."""
import contextlib
import json
import os
import sys
import subprocess
import tempfile

import pyatspi

from driver import Failed, Suite, Window, main, wait, walk, walk

PROGRAM = sys.argv[1]
SOURCE = os.environ.get('PSC_SOURCE_ROOT') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
METAL = os.path.join(SOURCE, 'traces', 'samples', 'qwen2.5-0.5b-metal.json')
SPLITS = os.path.join(SOURCE, 'traces', 'samples', 'qwen2.5-0.5b-440-cuda-cpu.json')
CACHE, QUEUES = (os.path.join(SOURCE, 'tests', 'fuzz', 'corpus', f'scenario-{name}.json') for name in ('kv', 'sched'))
TAKEOVER = os.path.join(SOURCE, 'traces', 'samples', 'takeover.lazy')
LESSON = os.path.join(SOURCE, 'traces', 'lessons', '5-two-orders.json')
CLI = os.environ.get('PSC_CLI') or os.path.join(os.path.dirname(PROGRAM), 'planscope-cli')
suite = Suite()


@contextlib.contextmanager
def window(*files, **options):
    w = Window(PROGRAM, *files, **options)
    try:
        yield w
    except BaseException:
        w.kill()
        raise
    w.close()


def expect(what, seen, wanted):
    if seen != wanted:
        raise Failed(f'{what}: {seen!r}, wanted {wanted!r}')


@suite.journey
def the_metal_sample_says_without_a_click_that_350_of_368_values_are_not_the_nodes_own():
    with window(METAL) as w:
        banner = w.says('350 of 368 recorded values')
        if '(115)' not in banner:
            raise Failed(f'the banner does not say whose values they are: {banner!r}')
        w.get('push button', contains='350 records are overwritten')
        w.says('18 own')
        w.says('WHAT THE OVERWRITTEN RECORDS REALLY HOLD')


@suite.journey
def the_peak_key_goes_where_curve_and_status_have_their_peak():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'run.json')
        subprocess.run([CLI, 'run', LESSON, '--fill', 'x=1,2,3,4', '--fill', 'w=2,2,2,2', '--fault', 'l1', '--trace', trace],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with window(trace) as w:
            w.keys('Home', 'p')
            w.at('100 % of peak')


@suite.journey
def stepping_forward_and_back_says_what_each_op_does():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('ctrl+Right', 'ctrl+Right', 'ctrl+Right')
        w.at('#2 ')
        w.keys('Right')
        w.at('#3 ')
        w.keys('ctrl+Left', 'Left')
        w.at('#1 ')
        w.keys('End')
        w.at('#439 ')
        w.keys('Home')
        w.at('Before the first op')


@suite.journey
def stepping_by_layer_stops_at_the_first_op_of_each():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('Next', 'Next')
        w.at('#3 ')
        w.keys('Next')
        w.at('#21 ')
        w.keys('Prior')
        w.at('#3 ')


@suite.journey
def stepping_by_split_stops_where_the_backend_changes():
    with window(SPLITS) as w:
        w.at('Before the first op')
        w.act('win.next-split')
        first = w.position()
        w.act('win.next-split')
        wait('another split', lambda: w.position() != first and w.position())


@suite.journey
def a_run_in_splits_shows_its_usage_after_the_other_pages():
    with window(SPLITS) as w:
        w.at('Before the first op')
        w.keys('k', 'i', 'u')
        w.says('y = live bytes')
        w.keys('y')


@suite.journey
def the_window_gets_down_to_1000_by_640_with_one_request_from_any_page():
    for path in (METAL, CACHE, TAKEOVER):
        for keys in ((), ('ctrl+shift+p',), ('k',)):
            with window(path) as w:
                w.get('push button', 'Map')
                if keys:
                    w.keys(*keys)
                subprocess.run(['xdotool', 'windowsize', w.id, '1000', '640'], check=True)
                wait('1000 x 640', lambda: w.size() == (1000, 640))


@suite.journey
def the_lists_fit_into_a_window_of_1000_px():
    for path in (METAL, TAKEOVER, recorded('kv.json')):
        with window(path, size=(1000, 640)) as w:
            w.get('push button', 'Map')
            expect('before', w.size(), (1000, 640))
            w.keys('F9')
            wait('the filter', lambda: w.find('entry', 'Filter of the lists'))
            expect(f'the size with {os.path.basename(path)}', w.size(), (1000, 640))


def in_sight(w, table, row):
    """Where the row of this name stands inside its table, in px from the top of the window; 0: out of sight."""
    box = table.queryComponent().getExtents(pyatspi.WINDOW_COORDS)
    for node in walk(table, True):
        if node.name != row or node.getRoleName() not in ('table row', 'list item'):
            continue
        one = node.queryComponent().getExtents(pyatspi.WINDOW_COORDS)
        if one.height and one.y >= box.y and one.y + one.height <= box.y + box.height:
            return one.y
    return 0


@suite.journey
def the_selected_row_of_a_list_comes_into_sight_wherever_the_cursor_goes():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('End')
        w.at('#439 ')
        table = wait('the ops', lambda: w.find('tree table', 'Ops') or w.find('table', 'Ops'))
        wait('logits in sight', lambda: in_sight(w, table, 'logits'))
        w.keys('Home', 'Right', 'Right')
        w.at('#1 ')
        wait('positions in sight', lambda: in_sight(w, table, 'positions'))
        w.press('push button', contains='Recorded values')
        w.keys('g')
        w.type('437')
        w.keys('Return')
        records = w.get('tree table', 'Recorded values')
        wait('the record in sight', lambda: in_sight(w, records, '#437 add'))


@suite.journey
def going_to_an_op_by_number_and_name_selects_it():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('g')
        w.type('124')
        w.keys('Return')
        w.at('#124 ')
        w.says('Not its own value. Holds #412')
        w.keys('g')
        w.type('output_norm')
        w.keys('Return')
        w.at('#438 ')


@suite.journey
def going_nowhere_is_told_and_leaves_nothing_behind():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('Right', 'g')
        w.type('no_such_op')
        w.keys('Return')
        w.says('There is no op, name, buffer or address "no_such_op" here. Ops go from 0 to 439')
        expect('the entry', w.get('text', 'Go to op').queryText().getText(0, 99), 'no_such_op')
        w.keys('Tab')
        wait('the op in the entry', lambda: w.get('text', 'Go to op').queryText().getText(0, 99) == '0')


@suite.journey
def the_card_of_the_pointer_goes_when_the_map_moves_below_it():
    with window(METAL) as w:
        w.at('Before the first op')
        subprocess.run(['xdotool', 'mousemove', '800', '330', 'mousemove', '802', '331'], check=True)
        w.says('kept to the end of the run')
        w.keys('w')
        w.silent('kept to the end of the run')
        subprocess.run(['xdotool', 'mousemove', '805', '330'], check=True)
        w.says('kept to the end of the run')


@suite.journey
def buffers_of_two_pools_are_told_apart_in_the_lists():
    with window(SPLITS) as w:
        w.at('Before the first op')
        w.keys('ctrl+6')
        free = w.get('tree table', 'Free list at the cursor')
        for name in ('b3 \u00b7 cuda', 'b3 \u00b7 cpu'):
            wait(f'{name} in the free list', lambda: in_sight(w, free, name))


@suite.journey
def playing_moves_the_cursor_until_paused():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('space')
        wait('some steps', lambda: w.position().startswith(('#1 ', '#2 ', '#3 ')))
        w.keys('space')
        w.get('push button', contains='Play')


@suite.journey
def x_goes_from_problem_to_problem_and_escape_clears():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('x')
        w.says('Not its own value')
        first = w.position()
        w.keys('x')
        wait('the next problem', lambda: w.position() != first)
        w.keys('X')
        wait('the problem before', lambda: w.position() == first)
        w.keys('Escape')
        w.says('Whole run')


@suite.journey
def the_filter_shows_the_ops_that_match():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('ctrl+f')
        w.type('ffn +layer:6 -rope')
        w.says('4 of 440 shown')
        w.keys('ctrl+a')
        w.type('no-such-op')
        w.says('Nothing matches')
        w.keys('Escape')
        w.silent('Nothing matches')


@suite.journey
def another_phase_shows_its_own_ops_and_verdicts_and_comes_back_where_it_was_left():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('ctrl+Right', 'ctrl+Right')
        w.at('#1 ')
        w.press('push button', contains='Decode \u00b7 305 ops')
        w.says('259 of 269 recorded values')
        w.get('push button', 'Decode \u00b7 305 ops  \u2298 259 of 269 records')
        w.press('push button', contains='Prefill \u00b7 440 ops')
        w.says('350 of 368 recorded values')
        w.at('#1 ')


@suite.journey
def a_token_of_the_strip_shows_its_step():
    with window(METAL) as w:
        w.at('Before the first op')
        w.press('push button', contains='decode, step 2 of 3')
        w.says('of 269 recorded values')
        w.press('push button', contains='prefill, step 1 of 1')
        w.says('of 368 recorded values')


@suite.journey
def a_fault_in_the_plan_menu_plans_again_and_shows_the_clobber():
    with window(LESSON) as w:
        w.says('QUESTION')
        w.keys('ctrl+p')
        w.get('check box', contains='l1 ')
        w.tab_to('l1 ')
        w.keys('space')
        w.says('1 clobber')
        w.says('Clobber 1 of 1')
        w.says('WHAT WAS BELIEVED')
        w.keys('Escape')


@suite.journey
def a_clobber_shows_the_words_that_it_changes_when_contents_lie_beside():
    trace, contents = (os.path.join(os.environ['HOME'], name) for name in ('run.json', 'run.contents'))
    subprocess.run([CLI, 'run', LESSON, '--fill', 'x=1,2,3,4', '--fill', 'w=2,2,2,2', '--fault', 'l1', '--trace', trace, '--contents', contents],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with window(trace) as w:
        w.says('1 clobber')
        w.keys('x')
        w.says('contents were not recorded')
    with window(trace, contents) as w:
        w.says('1 clobber')
        w.keys('x')
        w.says('4 of 4 words of #2 h differ from what it left:')
        w.says('+0xc  expected 40c00000 (6), found 41600000 (14)')
        w.silent('contents were not recorded')


@suite.journey
def the_plan_menu_lists_the_planners_with_their_bytes_and_plans_with_one_by_keyboard():
    with window(METAL) as w:
        w.says('350 of 368 recorded values')
        w.keys('ctrl+p')
        w.says('597 KiB   1.000 \u00d7 bound')
        w.says('889 KiB   1.489 \u00d7 bound')
        focus = wait('the focus on the planner in use', lambda: (w.focused() or w.root).name.startswith('pool, in use') and w.focused())
        expect('it is a row', focus.getRoleName(), 'list item')
        w.keys('Down', 'Down', 'Return')
        w.says('Best-fit')
        w.says('offsets in one arena a backend')
        w.press('push button', contains='Compare all')
        w.says('Compare: 9 of 9 planners, all clean')
        w.silent('FAULTS OF REAL ENGINES')  # the menu is gone with its button
        w.keys('Escape')
        w.says('350 of 368 recorded values')


@suite.journey
def a_list_of_boxes_is_packed_again_from_the_plan_menu():
    boxes = os.path.join(os.environ['HOME'], 'boxes.csv')
    with open(boxes, 'w') as file:
        file.write('id,lower,upper,size\n' + ''.join(f'b{i},{i},{i + 2 + i % 3},{64 * (1 + i * 7 % 5)}\n' for i in range(30)))
    with window(boxes) as w:
        w.says('Packed \u00b7')
        w.keys('ctrl+p')
        wait('the planners of boxes', lambda: w.find('list item', contains='linear-scan') and not w.find('list item', contains='candela'))
        w.keys('Down', 'Return')
        w.says('Packed here: ')
        w.keys('Escape')


@suite.journey
def all_planners_stand_side_by_side_and_one_of_them_is_taken():
    with window(METAL) as w:
        w.says('350 of 368 recorded values')
        w.keys('ctrl+shift+p')
        w.says('Compare planners')
        w.says('Compare: 9 of 9 planners, all clean;  the best reserves 597 KiB')
        w.silent('350 of 368 recorded values')  # what is behind the page is not read out
        w.says('pool \u2192 greedy-breadth')
        w.says('greedy-breadth saves 298,988 bytes (33 %): 280,576 of holes, 18,412 of padding.')
        wait('nine maps', lambda: len([n for n in walk(w.root, True) if n.name.startswith('Map of ')]) == 9)
        w.says('\u2713 9 plans clean')
        w.keys('Down', 'Down')
        w.says('pool \u2192 optimal')
        w.says('It meets the bound')
        w.keys('Return')
        w.says("this document's plan 597 KiB (1.000 \u00d7 bound)")
        w.keys('Escape')
        w.says('Optimal')
        w.says('350 of 368 recorded values')
        w.keys('ctrl+shift+p')
        w.says('Compare: 9 of 9 planners')
        w.keys('ctrl+f')  # what a key shows is on the other page: it comes up
        w.type('ffn')
        w.says('of 440 shown')


@suite.journey
def two_plans_stand_locked_together_with_what_differs_and_why():
    with window(METAL) as w:
        w.says('350 of 368 recorded values')
        w.keys('ctrl+shift+p')
        w.says('Compare: 9 of 9 planners')
        w.keys('ctrl+d')
        w.says('488 values on both sides: 365 moved, 73 in place otherwise.')
        w.says('Reserved are 298,988 bytes less')
        maps = [w.get('image', 'Memory timeline of A'), w.get('image', 'Memory timeline of B')]
        def both(text):
            for m in maps:
                m.clear_cache()
            return all(text in m.description for m in maps)
        w.keys('Down')
        w.says('#3 attn_norm, layer 0: from b4 [0x0, +7.00 KiB) to arena.metal [0x0, +7.00 KiB).')
        wait('both cursors at #3', lambda: both('#3 '))
        w.keys('ctrl+Right')
        wait('both cursors at #4', lambda: both('#4 '))
        w.keys('Escape')
        w.says('350 of 368 recorded values')


@suite.journey
def two_files_on_the_command_line_are_compared():
    graphs = []
    for tokens in ('30', '440'):
        graphs.append(os.path.join(os.environ['HOME'], f'prefill-{tokens}.json'))
        subprocess.run([CLI, 'export', '--preset', 'qwen2.5-0.5b', '--tokens', tokens, '--format', 'minfer-graph', '-o', graphs[-1]], check=True)
    with window(*graphs) as w:
        w.says('488 values on both sides: 379 grew.')
        w.says('The peak rises by 25,403,600 bytes')
        w.says('+7,976,960 bytes  #15 ffn_gate, layer 0: larger')
        w.says('B   prefill-440.json')
        w.press('push button', 'Planners')
        w.says('Compare: 9 of 9 planners')
        w.keys('Escape')
        w.at('Before the first op')


@suite.journey
def a_plan_file_stands_beside_the_graph_that_it_is_a_plan_of():
    plan = os.path.join(os.environ['HOME'], 'naive.json')
    with open(plan, 'w') as file:
        subprocess.run([CLI, 'plan', METAL, '--planner', 'naive', '--json'], check=True, stdout=file)
    with window(METAL, plan) as w:
        w.says('488 values on both sides: ')
        w.says('B   the same \u00b7 Plan of the file')
        w.says('Reserved are 5,052,416 bytes more')


@suite.journey
def a_model_file_is_told_where_it_can_be_run():
    with tempfile.NamedTemporaryFile('wb', suffix='.gguf', dir=os.environ['HOME'], delete=False) as model:
        model.write(b'GGUF\x03\0\0\0' + bytes(64))
    with window(model.name) as w:
        w.says('a model in GGUF, not a trace')


@suite.journey
def the_card_of_a_buffer_that_many_share_counts_them():
    with tempfile.NamedTemporaryFile('w', suffix='.csv', dir=os.environ['HOME'], delete=False) as boxes:
        boxes.write('id,lower,upper,size\n' + ''.join(f'{i},{i},{i + 2},16\n' for i in range(6)))
    with window(boxes.name) as w:
        w.keys('Home', 'Right', 'Right', 'Right', 'Right', 'Down')
        w.says('tensors, 32 B')


@suite.journey
def a_second_file_that_is_bad_is_told():
    with tempfile.NamedTemporaryFile('w', suffix='.json', dir=os.environ['HOME'], delete=False) as bad:
        bad.write('{"format": "minfer-trace", "version": 5, "phases": []}')
    with window(METAL, bad.name) as w:
        w.says('could not be opened')
        w.says('350 of 368 recorded values')


@suite.journey
def a_bad_file_is_told_and_the_document_that_was_open_stays():
    with tempfile.NamedTemporaryFile('w', suffix='.json', dir=os.environ['HOME'], delete=False) as bad:
        json.dump({'format': 'minfer-trace', 'version': 5, 'phases': []}, bad)
    with window(METAL) as w:
        w.says('350 of 368 recorded values')
        w.keys('ctrl+o')
        dialog = wait('the dialog', lambda: [i for i in windows(w) if i != w.id])
        w.focus_window(dialog[0])
        w.get('push button', 'Open')
        w.type(bad.name)
        w.keys('Return')
        w.says('could not be opened')
        w.focus_window(w.id)
        w.says('350 of 368 recorded values')
        w.press('push button', 'Close')
        w.silent('could not be opened')


@suite.journey
def a_click_in_the_curve_of_live_bytes_moves_the_cursor_there():
    with window(METAL) as w:
        w.at('Before the first op')
        area = w.find('image', 'Memory timeline').queryComponent().getExtents(pyatspi.WINDOW_COORDS)
        w.click(area.x + area.width * 0.6, area.y + area.height - 30)
        seen = wait('an op', lambda: w.position().startswith('#') and w.position())
        op = int(seen[1:].split()[0])
        if not 180 <= op <= 300:
            raise Failed(f'a click at 60 % of the width went to op {op} of 440')


@suite.journey
def arrows_walk_through_the_buffers_and_brackets_through_their_accesses():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('Down')
        w.says('TENANTS OF b0')
        w.keys('Down', 'Down', 'Down')
        w.says('TENANTS OF b3')
        w.keys('bracketright')
        w.at('#2 ')
        w.says('TENANTS OF b3')
        w.keys('Up')
        w.says('TENANTS OF b2')


@suite.journey
def the_saved_plan_is_the_plan_that_is_shown():
    path = os.path.join(os.environ['HOME'], 'saved-plan.json')
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('ctrl+shift+e')
        dialog = wait('the dialog', lambda: [i for i in windows(w) if i != w.id])
        w.focus_window(dialog[0])
        wait('the entry of the name', lambda: w.focused() is not None and w.focused().getRoleName() in ('text', 'entry'))
        w.keys('ctrl+a')
        w.type(path)
        w.keys('Return')
        wait('the file', lambda: os.path.exists(path))
        w.focus_window(w.id)
    with open(path) as file:
        plan = json.load(file)
    expect('its format and size', (plan['format'], plan['figures']['pool_bytes'], len(plan['buffers']) > 18),
           ('planscope-plan', 910336, True))


def windows(w):
    out = subprocess.run(['xdotool', 'search', '--onlyvisible', '--pid', str(w.process.pid)], capture_output=True,
                         text=True).stdout.split()
    return out


@suite.journey
def a_scenario_opens_and_is_stepped_through():
    with window(CACHE) as w:
        w.says('op 5: attend to rows 0..3 reads 8 B of cell 3')
        w.get('panel', contains='Steps 9')
        w.keys('Escape', 'Home')
        w.at('Before the first step')
        w.keys('ctrl+Right')
        w.at('op 0: store positions 0..3; writes cell 0')
        w.keys('ctrl+Right', 'ctrl+Right', 'ctrl+Right', 'ctrl+Right')
        w.at('op 4: defrag moves cell 2 to 1')
        w.keys('ctrl+Left')
        w.at('op 3: apply the shift')
    with window(QUEUES) as w:
        w.says('w write (host) writes 8 B of H that up: upload (gpu) reads: nothing orders the two.')
        w.get('panel', contains='Steps 5')


def recorded(name, *options):
    """A run of the tiny preset, recorded by the command line."""
    path = os.path.join(os.environ['HOME'], name)
    if not os.path.exists(path):
        subprocess.run([CLI, 'run', '--preset', 'tiny-qwen2', '-p', 'Hello, this is a longer prompt', '-n', '12', '--ignore-stop',
                        '--n-ctx', '64', '--trace', path, *options], check=True, stdout=subprocess.DEVNULL)
    return path


def rows_said(w, text):
    """Waits until the KV view's accessible text contains the words."""
    def ask():
        view = w.find('image', 'KV regions')
        if view is None:
            raise Failed('no KV view')
        view.clear_cache()
        if text not in view.description:
            raise Failed(f'KV view says {view.description!r}')
        return view.description
    return wait(f'the KV view to say {text!r}', ask)


def inside_said(w, text):
    def ask():
        view = w.find('image', 'Inside the planner or the arenas')
        if view is None:
            raise Failed('no view of the inside')
        view.clear_cache()
        if text not in view.description:
            raise Failed(f'the inside says {view.description!r}')
        return view.description
    return wait(f'the inside to say {text!r}', ask)


@suite.journey
def an_expression_opens_from_the_inside_and_follows_the_cursor_both_ways():
    with window(TAKEOVER, size=(1000, 640)) as w:
        inside_said(w, 'Nothing is planned yet')
        w.keys('Right', 'Right', 'Right', 'Right')
        said = inside_said(w, 'From here on k stands for t (packed)')
        for words in ('Refused: show the bytes of t: t is not packed yet', 'Taken: allocate', 'k for n (packed, until now t)'):
            if words not in said:
                raise Failed(f'no {words!r} in {said!r}')
        w.keys('ctrl+Right', 'ctrl+Right')
        inside_said(w, 's = u + v: computed in place')
        w.keys('Left', 'Left')
        expect('the way back', inside_said(w, 'From here on k stands for t'), said)
        w.keys('i')                       # the same key leads back to the map
        w.at('k = as_contiguous')
        w.keys('i', 'End', 'ctrl+Right')
        inside_said(w, 'The plan is complete: 9 steps in 3 slots')


@suite.journey
def an_expression_is_planned_by_another_generation_where_one_looks_on_from_the_same_step():
    with window(TAKEOVER, size=(1000, 640)) as w:
        inside_said(w, 'Nothing is planned yet')
        w.keys(*['Right'] * 6)
        said = inside_said(w, 's = u + v: computed in place')
        for words in ('Executor: a (the caller', 'hardened (shown): in place over u; right.', '0.1: take an idle slot, otherwise than shown; right; but',
                      'global map: in place over u; step 2, u cannot be carried out'):
            if words not in said:
                raise Failed(f'no {words!r} in {said!r}')
        w.keys('1')
        said = inside_said(w, '0.1 (shown): take an idle slot')
        if 's = u + v: computed into a slot that is idle' not in said:
            raise Failed(f'another step: {said!r}')
        w.says('K10 memory wasted')
        w.keys('5')                       # with the map that a run asks for
        inside_said(w, 'The executor ends: step 2, u cannot be carried out')
        w.keys('5', )                     # and back
        inside_said(w, '0.1 (shown): take an idle slot')
        w.keys('4')
        inside_said(w, 'hardened (shown): in place over u; right.')


@suite.journey
def steps_of_one_level_are_gone_round_and_run_beside_each_other_by_keys():
    with window(TAKEOVER, size=(1000, 640)) as w:
        inside_said(w, 'Nothing is planned yet')
        w.keys('Right', 'Right', 'Right')
        said = inside_said(w, 'Level 2 of 0 to 7: it reads t (1). Steps run one by one. Beside it may run: k.')
        w.keys('b')
        inside_said(w, 'Level 2 of 0 to 7: it reads t (1). Steps run one by one. Beside it may run: u.')
        w.keys('shift+b')
        expect('the way back', inside_said(w, 'Beside it may run: k.'), said)
        w.keys('m')
        inside_said(w, 'Steps run level by level. Beside it may run: k.')
        w.keys('m')
        inside_said(w, 'Steps run one by one')


@suite.journey
def generations_of_a_large_graph_are_compared_while_one_looks():
    large = os.path.join(os.environ['HOME'], 'large.json')
    node = {'detail': {}, 'shape': [4, 1, 1, 1], 'dtype': 'f32', 'backend': 'cpu', 'meta': {}}
    nodes = [{**node, 'id': 0, 'name': 'x', 'op': 'input', 'src': []}]
    nodes += [{**node, 'id': i, 'name': f'n{i}', 'op': 'add' if i % 3 else 'silu', 'src': [i - 1, max(i - 3, 0)] if i % 3 else [i - 1]}
              for i in range(1, 30000)]
    with open(large, 'w') as file:
        json.dump({'format': 'minfer-graph', 'version': 1, 'model': 'm', 'kind': 'prefill', 'inputs': [0], 'outputs': [29999], 'nodes': nodes}, file)
    with window(large) as w:
        w.at('Before the first op')
        w.keys('ctrl+p')
        wait('the focus on the planner in use', lambda: (w.focused() or w.root).name.startswith('pool, in use'))
        for _ in range(12):
            if w.focused().name.startswith('candela'):
                break
            w.keys('Down')
        w.keys('Return')
        w.says('Candela')
        w.keys('Escape')
        w.silent('FAULTS OF REAL ENGINES')
        w.keys('i')
        inside_said(w, 'hardened (shown): ')
        w.keys('i')                       # away before it is done, and back
        w.keys('i')
        inside_said(w, 'arena: ')


@suite.journey
def an_expression_is_typed_told_its_mistake_and_planned():
    with window() as w:
        w.get('label', contains='No document.')
        w.keys('ctrl+l')
        other = wait('the window to type in', lambda: [i for i in windows(w) if i != w.id])
        w.focus_window(other[0])
        w.get('push button', 'Plan it')
        w.keys('ctrl+a')
        w.type('a - ')
        w.keys('ctrl+Return')
        w.says('Line 1, column 5: the expression ends too early')
        w.type('(b + 0) * 2')
        w.keys('ctrl+Return')
        wait('the other window to go', lambda: windows(w) == [w.id])
        w.focus_window(w.id)
        inside_said(w, 'Nothing is planned yet')
        w.get('panel', contains='Steps 4')
        w.keys('i', 'End')
        w.at('a - fused_scalar3: in place over fused_scalar3')


@suite.journey
def generation_and_faults_of_an_open_expression_are_chosen_from_the_menu_and_stand_in_its_text():
    with window(TAKEOVER) as w:
        inside_said(w, 'Nothing is planned yet')
        w.keys('Right', 'Right', 'Right', 'ctrl+p')
        w.get('combo box', 'Generation')
        w.tab_to('b3 ')
        w.keys('space')
        inside_said(w, 'The executor ends: step 2, u cannot be carried out')
        w.says('K9 wrong result')
        w.keys('Escape')
        wait('the menu to go', lambda: w.find('check box', contains='b3 ') is None)
        w.keys('ctrl+l')
        other = wait('the window to type in', lambda: [i for i in windows(w) if i != w.id])
        w.focus_window(other[0])
        w.says('Planned as: hardened b3')
        w.keys('ctrl+a')
        w.type('# lazy 0.2')
        w.says('Planned as: 0.2')
        w.keys('Escape')
        wait('the other window to go', lambda: windows(w) == [w.id])


@suite.journey
def arenas_open_from_the_inside_with_their_slots_owners_and_lamps():
    path = os.path.join(os.environ['HOME'], 'arenas.json')
    events = [{'op': 'alloc', 'arena': 'exec', 'h': 't', 'bytes': 64}, {'op': 'free', 'h': 't'},
              {'op': 'alloc', 'arena': 'exec', 'h': 'u', 'bytes': 48}, {'op': 'alloc', 'arena': 'io', 'h': 'y', 'bytes': 32},
              {'op': 'export', 'h': 'y', 'as': 'n'}, {'op': 'clear'}, {'op': 'alloc', 'arena': 'exec', 'h': 'v', 'bytes': 64}]
    with open(path, 'w') as file:
        json.dump({'format': 'memplan-arena', 'version': 1, 'faults': ['a4'], 'events': events}, file)
    with window(path, size=(1000, 640)) as w:
        inside_said(w, '2 arenas, empty')
        w.says('The arenas\u2019 rules are broken')
        w.keys('x')
        inside_said(w, 'Invariant 4, clear leaves lent blocks alone: broken since position 5')
        w.keys('Home', 'Right', 'Right', 'Right')
        said = inside_said(w, 'is used again: slot 0 of 64 B; 16 B of it are not needed (slack)')
        if 'All invariants hold' not in said or 'owned by a tensor' not in said:
            raise Failed(f'the inside says {said!r}')
        w.keys('Right', 'Right')
        inside_said(w, 'lent: 1 lease outside holds it')
        w.keys('Right')
        inside_said(w, 'Invariant 4, clear leaves lent blocks alone: broken since position 5')
        w.keys('ctrl+Left', 'ctrl+Left', 'ctrl+Left')
        expect('the way back', inside_said(w, 'is used again'), said)
        w.keys('e')
        w.says('invariant 4 does not hold any more')
        w.get('push button', contains='invariants broke')


@suite.journey
def a_phase_whose_arenas_broke_a_rule_is_marked_from_afar():
    path = os.path.join(os.environ['HOME'], 'broken-arenas.json')
    subprocess.run([CLI, 'run', '--preset', 'tiny-qwen2', '-p', 'Hello', '-n', '3', '--n-ctx', '64', '--memory', 'arena', '--hold', '2',
                    '--fault', 'a4', '--trace', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    with window(path) as w:
        w.at('Before the first op')
        w.get('push button', contains='Arena  \u26a0')


def clean_then_wrong():
    """A trace of two phases: the first is sound, the second reads wrong bytes."""
    phases, trace = [], None
    for name, kind, fault in (('sound', 'prefill', ()), ('wrong', 'decode', ('--fault', 'l1'))):
        path = os.path.join(os.environ['HOME'], f'{name}.json')
        subprocess.run([CLI, 'run', LESSON, '--fill', 'x=1,2,3,4', '--fill', 'w=2,2,2,2', '--trace', path, *fault],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with open(path) as file:
            trace = json.load(file)
        phases.append(dict(trace['phases'][0], kind=kind))
    path = os.path.join(os.environ['HOME'], 'clean-then-wrong.json')
    with open(path, 'w') as file:
        json.dump(dict(trace, phases=phases), file)
    return path


@suite.journey
def a_clobber_in_another_phase_is_told_of_by_the_badge_and_reached_by_x():
    path = clean_then_wrong()
    told = json.loads(subprocess.run([CLI, 'check', path, '--json'], capture_output=True, text=True, check=False).stdout)
    expect('the phases of the findings', [finding['phase'] for finding in told['findings']], [1])
    for press in (lambda w: w.keys('x'), lambda w: w.keys('X'),
                  lambda w: w.press('push button', contains='No problem found in this phase')):
        with window(path) as w:
            w.at('Before the first op')
            badge = w.get('push button', contains='Decode: 1 clobber')
            wait('the words of the badge', lambda: any(node.name == '\u2713 clean here \u00b7 \u26a0 1 in Decode' for node in walk(badge)))
            w.get('push button', 'Decode \u00b7 7 ops  \u26a0 1 clobber')
            press(w)
            w.says('writes 16 B over')
            w.says('Clobber 1 of 1')
            w.get('push button', contains='1 clobber. Show')
            w.press('push button', 'Prefill \u00b7 7 ops')
            w.at('Before the first op')
            w.get('push button', contains='No problem found in this phase')


@suite.journey
def the_kv_view_says_which_rows_each_step_writes_and_reads():
    with window(recorded('kv.json')) as w:
        w.at('Before the first op')
        w.keys('k')
        rows_said(w, '0 of 64 rows written')
        w.keys('period')
        w.says('decode')
        rows_said(w, 'Before the first op: ')
        w.keys('Next')                    # the first layer: its store
        rows_said(w, 'kv_store, layer 0: writes row')
        w.says('Layer 0, row')
        w.keys('Next')
        rows_said(w, 'layer 1: writes row')
        w.keys('ctrl+Right', 'ctrl+Right')
        rows_said(w, 'reads rows 0')
        w.says('a hidden order edge keeps the store first')
        w.keys('Home')
        w.says('Layer 1, row 0, K')
        w.says('prefill')
        w.keys('Down')
        w.says('Layer 1, row 0, V')
        w.keys('Right', 'Right')
        w.says('Layer 1, row 2, V')
        w.keys('End', 'Return')           # to the op that writes the cell
        rows_said(w, 'layer 1: writes row')
        w.keys('k')
        wait('the map', lambda: w.find('image', 'Memory timeline'))


@suite.journey
def steps_of_the_run_stand_in_a_list_with_their_rows_and_windows():
    with window(recorded('kv.json')) as w:
        w.at('Before the first op')
        w.says('prefill')
        w.keys('k')
        for step in (1, 2, 3):
            w.keys('period')
        rows_said(w, 'is not written yet; 3 layers will')
        wait('step 3', lambda: w.find('push button', contains='decode, step 3 of 11'))
        w.keys('comma')
        w.act('win.drawer')
        w.press('push button', 'KV rows')
        wait('the table', lambda: w.find('tree table', contains='Rows of the KV regions') or
             w.find('table', contains='Rows of the KV regions'))


@suite.journey
def rows_that_are_read_and_that_nobody_wrote_are_an_alarm_in_every_view():
    with open(recorded('kv.json')) as file:
        trace = json.load(file)
    for step in trace['phases'][1]['steps'][2:3]:
        for entry in step['planscope']['kv']:
            if entry[2] == 'read':
                entry[4] += 2
                entry[5:] = [2]
    path = os.path.join(os.environ['HOME'], 'unwritten.json')
    with open(path, 'w') as file:
        json.dump(trace, file)
    with window(path) as w:
        w.at('Before the first op')
        w.keys('period', 'period', 'period')
        w.says('6 rows in 3 layers are read that nobody wrote')
        w.get('push button', contains='Rows are read that nobody wrote')
        w.press('push button', 'Show')
        rows_said(w, 'rows of which nobody wrote')
        w.says('Layer 0, row')
        w.keys('x')
        w.says('Layer 1, row')
        w.keys('period')
        w.silent('are read that nobody wrote')


@suite.journey
def the_published_trace_shows_rows_that_follow_from_its_positions():
    with window(METAL) as w:
        w.at('Before the first op')
        w.keys('k')
        w.says('they follow from the recorded values')
        w.keys('Next', 'ctrl+Right', 'ctrl+Right')
        rows_said(w, 'layer 0: reads rows 0\u20131 of K and V')


def pressed(w, name):
    """Waits until the toggle of the switch between the stories is the one that is down."""
    def ask():
        node = w.find('push button', name)
        node.clear_cache()
        states = node.getState()
        if not (states.contains(pyatspi.STATE_PRESSED) or states.contains(pyatspi.STATE_CHECKED)):
            raise Failed(f'{name} is not down: {[pyatspi.stateToString(s) for s in states.getStates()]}')
        return True
    return wait(f'{name} to be down', ask)


def otherwise():
    """A recorded run in which two buffers of the pool took each other's place for a while."""
    with open(recorded('kv.json')) as file:
        trace = json.load(file)
    events = trace['phases'][1]['planscope']['events']
    pool = [i for i, buffer in enumerate(events['buffers']) if buffer[3] == 'pool']
    used = [event[5] for event in events['events'] if event[0] == 'write' and event[1] >= 12 and event[5] in pool]
    one = used[0]
    other = next(buffer for buffer in used if buffer != one)
    swap = {one: other, other: one}
    for event in events['events']:
        if 12 <= event[1] <= 40:
            event[5] = swap.get(event[5], event[5])
    path = os.path.join(os.environ['HOME'], 'otherwise.json')
    with open(path, 'w') as file:
        json.dump(trace, file)
    return path


@suite.journey
def a_run_is_laid_over_its_plan_and_the_differences_are_walked_through():
    with window(otherwise()) as w:
        w.says('= It happened as planned:')   # the prefill
        pressed(w, 'Recorded')
        w.keys('o')
        pressed(w, 'Planned')
        w.keys('o')
        pressed(w, 'Both')
        w.says('= It happened as planned:')
        w.keys('period')                      # the choice goes with the run
        w.says('the run did otherwise')
        pressed(w, 'Both')
        w.keys('O')
        table = w.get('tree table', 'Differences between plan and record')
        first = wait('a row', lambda: next((n for n in walk(table, True) if 'planned was' in n.name), None))
        expect('the first difference', 'instead' in first.name or ', planned was b' in first.name, True)
        w.keys('Escape', 'Home')
        w.at('Before the first op')
        w.tab_to('Open or close the drawer')
        w.keys('Tab', 'Down')
        w.at('#12 matmul')
        w.keys('Down')
        w.at('#13 add')
        w.keys('o')
        pressed(w, 'Recorded')


@suite.journey
def a_document_without_a_recorded_run_says_why_nothing_is_laid_over_it():
    with window(METAL) as w:
        w.at('Before the first op')
        expect('a switch', w.find('push button', 'Recorded'), None)
        w.keys('o')
        w.says('No events of a run are recorded here')


def run_window(w):
    """Asks for a run and gives its window the focus."""
    w.keys('ctrl+r')
    other = wait('the run window', lambda: [i for i in windows(w) if i != w.id])
    w.focus_window(other[0])
    w.get('push button', 'Run')


@suite.journey
def enter_runs_from_a_number_too():
    with window() as w:
        w.get('label', contains='No document.')
        run_window(w)
        w.keys('Tab', 'Tab', 'ctrl+a')
        w.type('3')
        w.keys('Return')
        w.says('run of tiny-qwen2')


@suite.journey
def a_run_of_a_preset_opens_in_the_window():
    with window() as w:
        w.get('label', contains='No document.')
        run_window(w)
        w.keys('ctrl+a')
        w.type('Hello')
        w.keys('Return')
        w.says('run of tiny-qwen2')
        w.focus_window(w.id)
        w.at('Before the first op')
        w.press('push button', contains='Decode')
        w.says('decode, 59 ops')


@suite.journey
def what_is_wrong_in_a_run_is_told_beside_its_field():
    with window() as w:
        w.get('label', contains='No document.')
        run_window(w)
        w.tab_to('Model file')
        w.type('/no/such/model.gguf')
        w.keys('Return')
        w.says('there is no such file')
        w.keys('ctrl+a', 'BackSpace', 'Return')
        w.says('Which file?')
        w.tab_to('A model file')
        w.keys('Down')                    # the preset again
        w.silent('Which file?')
        w.tab_to('Layers of each backend')
        w.keys('ctrl+a')
        w.type('0-9=toaster')
        w.keys('Return')
        w.says('toaster')
        w.keys('Escape')
        w.focus_window(w.id)


@suite.journey
def a_graph_runs_with_the_numbers_that_are_typed():
    with window(os.path.join(SOURCE, 'traces', 'samples', 'parallel.json')) as w:
        w.at('Before the first op')
        run_window(w)
        w.tab_to('A preset')
        w.keys('Up', 'Up')
        w.says('INPUTS')
        w.press('push button', 'Run')
        w.says('run of')
        w.focus_window(w.id)
        w.at('Before the first op')


@suite.journey
def cancelling_a_run_opens_what_was_recorded():
    with window() as w:
        w.get('label', contains='No document.')
        run_window(w)
        w.tab_to('A preset')
        w.keys('Tab', 'space')            # one that takes its time: 256 wide instead of 64
        w.keys('Down', 'Down', 'Return')
        w.tab_to('Tokens')
        w.keys('ctrl+a')
        w.type('1900')
        w.press('push button', 'Run')
        w.says('of 1900 tokens')
        w.keys('Escape')
        w.says('run of tiny-qwen2-k')
        w.says('Cancelled; what was recorded is open')
        w.focus_window(w.id)
        w.at('Before the first op')


def windows_sizes(w):
    out = []
    for number in windows(w):
        told = subprocess.run(['xdotool', 'getwindowgeometry', '--shell', number], capture_output=True, text=True).stdout
        out.append(tuple(int(dict(line.split('=') for line in told.split())[side]) for side in ('WIDTH', 'HEIGHT')))
    return out


def focused_is(w, name):
    return wait(f'the focus on {name!r}', lambda: (lambda node: node is not None and node.name.startswith(name))(w.focused()))


@suite.journey
def f1_lists_the_keys_in_a_window_that_fits_and_finds_them():
    with window(METAL, size=(1000, 640)) as w:
        w.at('Before the first op')
        w.keys('F1')
        other = wait('the keys', lambda: [i for i in windows(w) if i != w.id])[0]
        w.focus_window(other)
        w.says('Go to: 124, 50%, 0x13400, b9, ffn_up')
        expect('sizes inside 1000 x 640', all(x <= 1000 and y <= 640 for x, y in windows_sizes(w)), True)
        w.type('ctrl+7')
        w.says('Log of the planner')
        w.silent('Zoom in')
        w.keys('Escape')
        w.says('Zoom in')
        w.keys('Escape')
        wait('the keys to go', lambda: windows(w) == [w.id])
        w.focus_window(w.id)


@suite.journey
def every_pane_is_reached_and_left_by_keys_alone():
    with window(METAL) as w:
        w.at('Before the first op')
        focused_is(w, 'Memory timeline')
        w.keys('ctrl+3', 'Down', 'Down')                 # a tab of the drawer: its rows take the keys
        w.says('Not its own value. Holds #425 attn')     # #2 embed
        records = w.get('tree table', 'Recorded values')
        w.keys('alt+1', 'alt+1')                         # the other way round: after #2 stands #1
        wait('#2 below #3', lambda: 0 < in_sight(w, records, '#3 attn_norm') < in_sight(w, records, '#2 embed'))
        w.keys('Down')
        w.says('#1 positions')
        w.keys('Escape')                                 # back to the map, what is selected stays
        focused_is(w, 'Memory timeline')
        w.says('#1 positions')
        w.keys('Escape')
        w.says('Whole run')
        w.keys('slash')
        focused_is(w, 'Filter of the lists')
        w.type('rope')
        w.says('48 of 440 shown')
        w.keys('Return')                                 # the first that matches
        w.says('#7 rope q')
        w.keys('Down')
        w.says('#8 rope k')
        w.keys('F9')                                     # the focus is not lost with the lists
        focused_is(w, 'Memory timeline')
        w.keys('F9', 'ctrl+6')
        w.keys('ctrl+j')
        focused_is(w, 'Free list')
        w.keys('F6')                                     # keys and Escape act from the header, too
        focused_is(w, 'Open')
        w.keys('End')
        w.at('#439 ')
        w.keys('Escape')
        focused_is(w, 'Memory timeline')
        w.keys('ctrl+2')
        wait('why there is no such tab', lambda: w.find('label', contains='No events of a run'))


@suite.journey
def an_empty_window_offers_examples_that_open_by_keyboard():
    with window() as w:
        w.get('label', contains='No document.')
        w.tab_to('A chain')
        w.keys('Return')
        w.says('chain.json')
        w.at('Before the first op')
        w.keys('ctrl+w')
        w.get('label', contains='No document.')


@suite.journey
def every_control_that_is_shown_has_a_name():
    with window(METAL) as w:
        w.says('350 of 368 recorded values')
        w.act('win.drawer')
        nameless = [(n.getRoleName(), n.description) for n in w.all_shown()
                    if n.getRoleName() in ('push button', 'button', 'push button', 'combo box', 'entry', 'text', 'check box',
                                           'image', 'table', 'tree table')
                    and n.getState().contains(pyatspi.STATE_FOCUSABLE) and (not n.name or n.name.startswith('Gtk'))]
        expect('nameless controls', nameless, [])


@suite.journey
def a_small_window_hides_the_lists_and_f9_brings_them_back():
    with window(METAL, size=(1000, 640)) as w:
        w.at('Before the first op')
        wait('no filter', lambda: not w.find('entry', 'Filter of the lists'))
        w.keys('F9')
        wait('the filter', lambda: w.find('entry', 'Filter of the lists'))


if __name__ == '__main__':
    main(suite)
