import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { packageUrl } from '../../src/edge/program-files.ts'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { listening } from '../support/listening.ts'
import { untilNextLook } from '../support/tidegauge.ts'
import { type ProgramRun, startProgram } from './demo-run.ts'

const bundled = fileURLToPath(new URL('dist/bin.cjs', packageUrl))

async function startDevchain(env?: NodeJS.ProcessEnv, port?: string): Promise<ProgramRun> {
  return startProgram([bundled, 'devchain', '--port', port ?? String(await freePort())], env)
}

/** A folder with an `anvil` that is a script. */
function withAnvil(script: string): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'anvil'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, 'anvil'), 0o755)
  return folder
}

const anvilOf = (run: ProgramRun) => run.processes().find(({ command }) => command.includes('anvil '))

it.each([
  [
    'there is no anvil',
    () => temporaryFolder(),
    /^tidegauge: .*npm install --save-dev @foundry-rs\/anvil .*getfoundry/m,
  ],
  ['anvil ends at once', () => withAnvil('echo wrong machine >&2; exit 3'), /ended with 3 before .*: wrong machine$/m],
])('where %s it says so, and ends with 1', async (_, path, words) => {
  const run = await startDevchain({ PATH: path() })
  expect(await run.ended, run.text()).toBe(1)
  expect(run.text()).toMatch(words)
  expect(run.text()).not.toMatch(/^ {4}at /m)
})

it('where its port is in use it says so, and ends with 1', async () => {
  const { port } = new URL(await listening(() => {}))
  const run = await startDevchain({}, port)
  expect(await run.ended).toBe(1)
  expect(run.text()).toContain(`port ${port} is in use`)
})

const building = async (run: ProgramRun) => {
  await run.says(/Building a local chain/)
  while (!anvilOf(run)) await untilNextLook()
}
const living = (run: ProgramRun) => run.says(/Stop with Ctrl-C/)

it.each([
  ['SIGINT', 'while it builds', building, 0],
  ['SIGINT', 'while it lives', living, 0],
  ['SIGKILL', 'while it builds', building, null],
  ['SIGKILL', 'while it lives', living, null],
] as const)('on %s %s it leaves no anvil', async (signal, _, reached, code) => {
  const run = await startDevchain()
  await reached(run)
  // As a terminal does it: to the whole group.
  process.kill(-(run.child.pid ?? 0), signal)
  expect(await run.ended, run.text()).toBe(code)
  if (code === 0) expect(run.text()).toMatch(/Stopped\.\n$/)
  while (run.processes().length > 0) await untilNextLook()
})

it('ends with 1 when its anvil does', async () => {
  const run = await startDevchain()
  await living(run)
  process.kill(anvilOf(run)?.pid ?? expect.unreachable(), 'SIGKILL')
  expect(await run.ended, run.text()).toBe(1)
  expect(run.text()).toMatch(/^tidegauge: the local chain has ended/m)
})
