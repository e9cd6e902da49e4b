/**
 * Fills the folder of `NODE_COMPILE_CACHE` for the bundle in a folder: with what the daemon and the usual commands run,
 * with the configuration of `TIDEGAUGE_CONFIG`. The image is built with it; it is the user of the image who must run it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const dist = resolve(process.argv[2] ?? 'dist')
const main = join(dist, 'bin.cjs')

const run = (...args: string[]) => void spawnSync(process.execPath, [main, ...args], { stdio: 'ignore' })

// A file's code is kept as the first process leaves it, with the functions that were called: the daemon comes first.
const daemon = spawn(process.execPath, [main, 'run'], { stdio: ['ignore', 'ignore', 'pipe'] })
let page = ''
let isDelivered = false
for await (const line of createInterface({ input: daemon.stderr })) {
  const said = JSON.parse(line) as { readonly msg: string; readonly page?: string }
  page = said.page ?? page
  if (said.msg !== 'delivered') continue
  isDelivered = true
  for (const path of ['livez', 'readyz', '', 'status.json', 'metrics']) await (await fetch(new URL(path, page))).text()
  run('status')
  run('healthcheck', '--live')
  daemon.kill('SIGTERM')
}
if (!isDelivered) throw new Error('the daemon ended before it delivered: there is little to keep')
run('collect', '--dry-run')
run('check')
run('--help')
