import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'

/** Rooms that no other needs, so that a reader may leave them out: their folders and files. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  fleet: [
    'src/fleet',
    ...['backfill-windows', 'fleet-delivering', 'fleet-identity', 'fleet-member', 'fleet-reporting'].map(
      name => `src/app/${name}.ts`,
    ),
    ...['src/cli/backfill/fleet-backfill.ts', 'src/cli/commands/fleet.ts'],
  ],
  postgres: ['src/outbox/postgres', 'src/outbox/move.ts', 'src/cli/commands/move.ts'],
  salvage: ['src/salvage'],
  notify: ['src/reports/notify', 'src/app/notifier.ts', 'src/cli/commands/notify.ts', 'src/cli/doctor/receivers.ts'],
  heartbeat: ['src/reports/heartbeat', 'src/app/heartbeat.ts'],
  page: ['src/status/page'],
  new: ['src/cli/new', 'src/cli/commands/new.ts'],
  explain: ['src/cli/explain', 'src/cli/commands/explain.ts'],
  backfill: [
    ...['src/cli/backfill', 'src/cli/commands/backfill.ts', 'src/intake/backfill'],
    ...['src/fleet/backfill-worker.ts', 'src/app/backfill-windows.ts'],
  ],
}

/** Lines that a room may cost elsewhere. */
const linesMax = 20

const root = fileURLToPath(new URL('../..', import.meta.url))

it.each(Object.entries(rooms))('%s can be removed, and the types still hold', (room, parts) => {
  const patch = join(root, 'test/leaf-rooms/patches', `${room}.patch`)
  const lines = readFileSync(patch, 'utf8').split('\n')
  const changed = ['+', '-'].map(sign => lines.filter(line => line.startsWith(sign) && !/^(\+\+\+|---) /.test(line)))
  expect(Math.max(...changed.map(({ length }) => length))).toBeLessThanOrEqual(linesMax)

  const copy = temporaryFolder()
  for (const part of ['src', 'collectors', 'config', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, part), join(copy, part), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const part of parts) rmSync(join(copy, part), { recursive: true })
  const run = (command: string, ...args: readonly string[]) => {
    const { stdout, stderr } = spawnSync(command, args, { cwd: copy, encoding: 'utf8' })
    return `${stdout}${stderr}`
  }
  expect(
    run('git', 'apply', patch),
    'make the patch again: in a copy, delete the room, mend the types, git diff -U1',
  ).toBe('')
  expect(run(process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '--noEmit')).toBe('')
})
