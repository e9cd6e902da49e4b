import { spawn } from 'node:child_process'

// Its input ends when this process does, in whatever way, kill -9 included; a line before that says all is well.
const script = 'trap "" INT TERM HUP; read -r line || kill "$0" 2> /dev/null'

/** Sees to it that a child does not outlive this process, however that ends. To be disposed of when the child has ended. */
export function guard(pid: number | undefined): Disposable {
  if (pid === undefined) return { [Symbol.dispose]() {} }
  const child = spawn('/bin/sh', ['-c', script, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'] })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  return { [Symbol.dispose]: () => void child.stdin.write('done\n') }
}
