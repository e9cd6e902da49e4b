import { type ChildProcess, spawn } from 'node:child_process'

/** Reads `+ PID` and `- PID`. At the end of its input it ends the processes that are left. Signals are not for it. */
const script = `trap '' HUP INT TERM
all=
while read -r sign pid; do
  case $sign in
    +) all="$all $pid" ;;
    -) kept=
       for one in $all; do [ "$one" = "$pid" ] || kept="$kept $one"; done
       all=$kept ;;
  esac
done
[ -z "$all" ] || kill -9 $all`

/**
 * Ends processes that this one has started when it was killed (kill -9). One whose event loop a collector blocks does not
 * notice that its connection is closed, and a program of others does not care. A shell does: its input is closed with this
 * process. A thread in each process of collectors would do, too, and takes more time and memory than all else of its start.
 * Where there is no shell, as in a small image, all end with this process anyway.
 */
class OrphanWatch {
  readonly #pids = new Set<number>()
  #shell: ChildProcess | undefined

  /** @param pid with a minus, of a group */
  add(pid: number): void {
    this.#pids.add(pid)
    if (this.#shell) this.#tell('+', pid)
    else this.#start()
  }

  delete(pid: number): void {
    if (!this.#pids.delete(pid)) return
    this.#tell('-', pid)
    if (this.#pids.size > 0) return
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }

  #start(): void {
    const shell = shellOrNone()
    const onGone = () => {
      if (this.#shell === shell) this.#shell = undefined
    }
    shell?.on('error', onGone).on('exit', onGone).unref()
    // The next process tries again where the system starts no shell.
    if (!shell?.stdin) return
    this.#shell = shell
    shell.stdin.on('error', onGone)
    // It must not keep a command alive that is done.
    if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
    for (const pid of this.#pids) this.#tell('+', pid)
  }

  #tell(sign: '+' | '-', pid: number): void {
    this.#shell?.stdin?.write(`${sign} ${pid}\n`)
  }
}

/** A shell; without streams if there are no descriptors for them. */
function shellOrNone(): ChildProcess | undefined {
  try {
    // In a group of its own: it lives on when that of this process is killed.
    return spawn('/bin/sh', ['-c', script], { env: {}, stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  } catch {
    return undefined
  }
}

/** The watch of this process. */
const orphanWatch = new OrphanWatch()

/**
 * Lets a process end when this one is killed.
 *
 * @param scope `group` where it was started detached: with all that it has started
 */
export function endWithThis(child: ChildProcess, scope: 'process' | 'group' = 'process'): void {
  const { pid } = child
  if (pid === undefined) return
  const watched = scope === 'group' ? -pid : pid
  orphanWatch.add(watched)
  child.once('exit', () => orphanWatch.delete(watched))
}
