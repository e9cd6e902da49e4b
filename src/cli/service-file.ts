import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { systemTime } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { openStore, type Store } from '../reference/store.ts'

/** Option with the file of the reference service. */
export interface FileOption {
  readonly file: string
}

/** Adds that option to a command. */
export function withFile(command: Command): Command {
  return command.option('--file <file>', 'SQLite file of the service', 'data/service.db')
}

/**
 * Works on the service's existing file.
 *
 * @throws Fault `usage` when there is none, or it is not the service's; errors of `act`
 */
export function withStore<T>(file: string, act: (store: Store) => T): T {
  if (!existsSync(file)) {
    throw new Fault('usage', `the service has no file ${file}`, {
      fix: `name it with --file FILE; tidegauge service key create --file ${file} makes one`,
    })
  }
  return withNewStore(file, act)
}

/** Works on the service's file, creating it if missing. */
export function withNewStore<T>(file: string, act: (store: Store) => T): T {
  const store = open(file)
  try {
    return act(store)
  } finally {
    store.close()
  }
}

function open(file: string): Store {
  try {
    return openStore(file, systemTime)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('usage', `cannot open the service's file ${file}: ${why}`, {
      fix: 'name another one with --file FILE, in a folder that can be written',
      cause,
    })
  }
}
