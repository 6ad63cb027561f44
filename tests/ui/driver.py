"""Drives one planscope window through AT-SPI and real key events, and reports subtests as TAP.

Nothing here sleeps for a fixed time to let something happen: `wait` asks again until what is wanted is so,
or fails at its deadline with what was seen last."""
import os
import subprocess
import sys
import time
import traceback

import pyatspi

DEADLINE = 20.0  # seconds; a loaded machine of two cores needs a few


class Failed(Exception):
    """What was expected and what was seen."""


def wait(what, ask, deadline=DEADLINE):
    """Returns the first true answer of ask()."""
    end = time.monotonic() + deadline
    seen = None
    while True:
        try:
            seen = ask()
            if seen:
                return seen
        except Exception as error:  # an accessible that went away while it was looked at
            seen = error
        if time.monotonic() > end:
            raise Failed(f'{what}: not within {deadline:.0f} s, last seen {seen!r}')
        time.sleep(0.03)


TABLES = ('tree table', 'table')
CLOSED = ('scroll bar', 'combo box')  # nothing of interest inside


def walk(node, tables=False):
    """The accessible and everything below it that is visible. Tables hold most of all accessibles: only on demand."""
    node.clear_cache()
    stack = [node]
    while stack:
        node = stack.pop()
        try:
            role = node.getRoleName()
            if role != 'application' and not node.getState().contains(pyatspi.STATE_VISIBLE):
                continue
        except Exception:
            continue
        yield node
        if role in CLOSED or (role in TABLES and not tables):
            continue
        try:
            children = [node.getChildAtIndex(i) for i in range(node.childCount)]
        except Exception:
            continue
        stack.extend(child for child in reversed(children) if child is not None)


class Window:
    """One run of the program."""

    def __init__(self, program, *files, size=(1400, 900), environment=None):
        self.log = open(os.path.join(os.environ['HOME'], 'planscope.log'), 'w+')
        self.process = subprocess.Popen([program, *files], stdout=self.log, stderr=subprocess.STDOUT,
                                        env=dict(os.environ, **(environment or {})))
        self.id = wait('a window', self.find_id)
        self.timeline = None
        subprocess.run(['xdotool', 'windowsize', '--sync', self.id, str(size[0]), str(size[1])], check=False,
                       timeout=20, stderr=subprocess.DEVNULL)
        subprocess.run(['xdotool', 'windowmove', self.id, '0', '0', 'windowfocus', self.id], check=True)
        self.root = wait('the window among the accessibles', self.find_root)

    def find_id(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise Failed(f'planscope ended with {self.process.returncode}: {self.log.read()[-2000:]}')
        out = subprocess.run(['xdotool', 'search', '--onlyvisible', '--pid', str(self.process.pid)],
                             capture_output=True, text=True).stdout.split()
        return out[0] if out else None

    def find_root(self):
        for app in pyatspi.Registry.getDesktop(0):
            if app is not None and app.get_process_id() == self.process.pid and app.childCount:
                return app
        return None

    def close(self):
        """Ends it as Ctrl+Q does; a crash on the way out is a failure."""
        if self.process.poll() is None:
            self.keys('ctrl+q')
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failed('Ctrl+Q did not end the program')
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        if self.process.returncode != 0:
            raise Failed(f'the program ended with {self.process.returncode}: {text[-1500:]}')

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def keys(self, *names):
        """Real key events, one after another, to the window that has the focus."""
        subprocess.run(['xdotool', 'key', '--clearmodifiers', *names], check=True)

    def type(self, text):
        subprocess.run(['xdotool', 'type', '--clearmodifiers', text], check=True)

    def click(self, x, y):
        subprocess.run(['xdotool', 'mousemove', str(round(x)), str(round(y)), 'click', '1'], check=True)

    def size(self):
        out = subprocess.run(['xdotool', 'getwindowgeometry', '--shell', self.id], capture_output=True, text=True, check=True)
        told = dict(line.split('=') for line in out.stdout.split())
        return int(told['WIDTH']), int(told['HEIGHT'])

    def focus_window(self, number):
        subprocess.run(['xdotool', 'windowfocus', '--sync', number], check=True, timeout=20)

    def all_shown(self):
        for node in walk(self.root):
            yield node

    def find(self, role, name=None, contains=None):
        """The first shown accessible of this role and name, or None."""
        for node in self.all_shown():
            if node.getRoleName() != role:
                continue
            if name is not None and node.name != name:
                continue
            if contains is not None and contains not in node.name:
                continue
            return node
        return None

    def get(self, role, name=None, contains=None):
        return wait(f'{role} {name or contains!r}', lambda: self.find(role, name, contains))

    def press(self, role, name=None, contains=None):
        self.get(role, name, contains).queryAction().doAction(0)

    def act(self, action):
        """Runs an action of the window by name, as an assistive tool does."""
        frame = wait('the frame', lambda: self.find('frame') or self.find('window'))
        actions = frame.queryAction()
        for i in range(actions.nActions):
            if actions.getName(i) == action:
                actions.doAction(i)
                return
        raise Failed(f'no action {action!r} among {[actions.getName(i) for i in range(actions.nActions)]}')

    def focused(self):
        return next((n for n in self.all_shown() if n.getState().contains(pyatspi.STATE_FOCUSED)), None)

    def tab_to(self, name, limit=60):
        """Presses Tab until the control whose name begins so has the focus: it can be reached by keyboard."""
        for _ in range(limit):
            node = self.focused()
            if node is not None and node.name.startswith(name):
                return node
            before = node and node.name
            self.keys('Tab')
            wait('the focus to move', lambda: (self.focused() or self.root).name != before, 5)
        raise Failed(f'Tab does not reach {name!r}')

    def labels(self):
        return [n.name.replace('\u00a0', ' ') for n in self.all_shown() if n.getRoleName() == 'label']

    def says(self, text):
        """Waits until a label that is shown contains the text, and returns it whole."""
        return wait(f'a label with {text!r}', lambda: next((l for l in self.labels() if text in l), None))

    def silent(self, text):
        wait(f'no label with {text!r}', lambda: not any(text in l for l in self.labels()))

    def position(self):
        """The accessible text of the timeline: what the position writes, frees and how much lives."""
        if not self.timeline:
            self.timeline = self.find('image', 'Memory timeline')
        if not self.timeline:
            return ''
        self.timeline.clear_cache()
        return self.timeline.description

    def at(self, text):
        return wait(f'the position to say {text!r}', lambda: self.told(text))

    def told(self, text):
        position = self.position()
        if text in position:
            return position
        raise Failed(f'position {position!r}')


class Suite:
    """Collects journeys and prints one TAP line each."""

    def __init__(self):
        self.journeys = []

    def journey(self, function):
        self.journeys.append(function)
        return function

    def run(self, only=None):
        chosen = [j for j in self.journeys if not only or only in j.__name__]
        print(f'1..{len(chosen)}', flush=True)
        failed = 0
        for number, journey in enumerate(chosen, 1):
            name = journey.__name__.replace('_', ' ')
            try:
                journey()
                print(f'ok {number} - {name}', flush=True)
            except Exception as error:
                failed += 1
                print(f'not ok {number} - {name}', flush=True)
                for line in (str(error) if isinstance(error, Failed) else traceback.format_exc()).splitlines():
                    print(f'# {line}', flush=True)
        return 1 if failed else 0


def main(suite):
    sys.exit(suite.run(sys.argv[2] if len(sys.argv) > 2 else None))
