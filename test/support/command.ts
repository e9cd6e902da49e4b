import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { vi } from 'vitest'
import { type Ended, withoutProgress } from './tidegauge.ts'

const require = createRequire(import.meta.url)

/**
 * Runs a command line to its end in this process, one at a time: most of what a short command costs is the start of its
 * process. For a process of its own there is `tidegauge` in this folder; `run` and `service` need one.
 */
export async function command(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const ownEnv = { NO_COLOR: '1', ...env }
  const before = Object.keys(ownEnv).map(name => [name, process.env[name]] as const)
  Object.assign(process.env, ownEnv)
  const { run }: typeof import('../../src/cli/commands/program.ts') = require('../../dist/cli/main.cjs')
  const said = listen()
  const forgetSignals = signalsRemembered()
  try {
    const code = await run(args)
    const { stdout, stderr } = said.texts
    return { code, stdout, stderr: withoutProgress(stderr) }
  } finally {
    forgetSignals()
    said.stop()
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

/** Takes what is written to stdout and stderr, which a command does by their descriptors. */
function listen(): { readonly texts: { stdout: string; stderr: string }; stop(): void } {
  const texts = { stdout: '', stderr: '' }
  const written = fs.writeSync
  const spy = vi.spyOn(fs, 'writeSync').mockImplementation((...args) => {
    const [descriptor, said] = args
    if (descriptor !== 1 && descriptor !== 2) return written(...args)
    const bytes = Buffer.from(said)
    texts[descriptor === 1 ? 'stdout' : 'stderr'] += bytes.toString()
    return bytes.length
  })
  syncBuiltinESMExports()
  return {
    texts,
    stop() {
      spy.mockRestore()
      syncBuiltinESMExports()
    },
  }
}

/** @returns takes away what a command does on signals: they end it, and not the process of the tests */
function signalsRemembered(): () => void {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  const before = signals.map(signal => process.listeners(signal))
  return () => {
    for (const [index, signal] of signals.entries()) {
      for (const listener of process.listeners(signal)) {
        if (!before[index]?.includes(listener)) process.off(signal, listener)
      }
    }
  }
}
