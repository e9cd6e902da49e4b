import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const main = fileURLToPath(new URL('../../../src/bin.cjs', import.meta.url))

/** Runs Node as a user types it in a folder: nothing of the tests' own run is seen. */
export async function typed(folder: string, ...args: readonly string[]) {
  const env = { PATH: process.env['PATH'], HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
  try {
    const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

/** The command line, in the same way. */
export const typedTidegauge = (folder: string, ...args: readonly string[]) => typed(folder, main, ...args)
