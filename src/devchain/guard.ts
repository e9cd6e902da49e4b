import { spawn } from 'node:child_process'

// Its input ends when this process does, in whatever way, kill -9 included; a line before that says all is well.
const script = 'trap "" INT TERM HUP; read -r line || kill -s TERM -- "$0" 2> /dev/null'

/**
 * Sees to it that a child does not outlive this process, however that ends. To be disposed of when the child has ended.
 *
 * @param pid of the child; with a minus, of its group
 */
export function guard(pid: number | undefined): Disposable {
  if (pid === undefined) return { [Symbol.dispose]() {} }
  // In a group of its own: it lives on when that of this process is killed.
  const child = spawn('/bin/sh', ['-c', script, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  return { [Symbol.dispose]: () => void child.stdin.write('done\n') }
}
