import { type ChildProcess, spawn } from 'node:child_process'

/** Reads `+ PID` and `- PID`. At the end of its input it ends the processes that are left. Signals are for the daemon. */
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
 * Ends processes of collectors when this process was killed (kill -9). One whose event loop a collector blocks does not
 * notice that its connection is closed. A shell does: its input is closed with this process. A thread in each process
 * would do, too, and takes more time and memory than all else of its start. Where there is no shell, as in a small image,
 * all end with this process anyway.
 */
class OrphanWatch {
  readonly #pids = new Set<number>()
  #shell: ChildProcess | undefined

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
    const gone = () => {
      if (this.#shell === shell) this.#shell = undefined
    }
    shell?.on('error', gone).on('exit', gone).unref()
    // The next process tries again where the system starts no shell.
    if (!shell?.stdin) return
    this.#shell = shell
    shell.stdin.on('error', gone)
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
    return spawn('/bin/sh', ['-c', script], { env: {}, stdio: ['pipe', 'ignore', 'ignore'] })
  } catch {
    return undefined
  }
}

/** The watch of this process. */
export const orphanWatch = new OrphanWatch()
