import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { configured, hostYaml, says, source, start, tidegauge } from '../support/tidegauge.ts'

const preload = fileURLToPath(new URL('../support/loaded-packages.ts', import.meta.url))

// From the sources: a bundle has lost the names of its packages.

/** Packages as large as a bare start, or larger: each is loaded where it is used, and not before. */
const large = ['undici', 'fastify', 'viem', 'prom-client', '@opentelemetry/api', 'ajv', 'pg']

function listing(): { env: Record<string, string>; packages(): string[] } {
  const file = join(temporaryFolder(), 'packages.json')
  return {
    env: { NODE_OPTIONS: `--import=${preload}`, LOADED_PACKAGES: file },
    packages: () => JSON.parse(readFileSync(file, 'utf8')) as string[],
  }
}

async function loadedBy(args: readonly string[]): Promise<string[]> {
  const { env, packages } = listing()
  await tidegauge(args, env, source)
  return packages().sort()
}

it('--version loads what reads a command line, and nothing else', async () => {
  expect(await loadedBy(['--version'])).toEqual(['commander', 'leven'])
})

it('healthcheck loads what reads the address of the status server, without a schema', async () => {
  const { config } = configured(hostYaml)
  expect(await loadedBy(['healthcheck', '--config', config])).toEqual(['commander', 'croner', 'leven', 'yaml'])
})

it.each(['status', 'check'])('%s loads no server, no client of HTTP and no chain', async name => {
  const { config } = configured(hostYaml)
  const loaded = await loadedBy([name, '--config', config])
  expect(loaded).toEqual(expect.arrayContaining(['zod', 'better-sqlite3']))
  expect(loaded.filter(one => large.includes(one))).toEqual([])
})

it('a daemon that is not scraped loads no viem, no telemetry and no compiler of schemas', async () => {
  const { config } = configured(hostYaml)
  const { env, packages } = listing()
  const daemon = start(['run', '--config', config], env, source)
  await says(daemon, /"running"/)
  daemon.kill('SIGTERM')
  await new Promise(resolve => daemon.once('close', resolve))
  const loaded = packages()
  expect(loaded).toContain('fastify')
  expect(loaded.filter(one => large.includes(one) && one !== 'fastify' && one !== 'undici')).toEqual([])
})
