import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** All that is loaded with a file of ours: its own imports, and theirs. */
function loadedWith(file: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  if (!file.startsWith(root)) return loaded
  const imports = readFileSync(file, 'utf8').matchAll(
    /^(?:import|export)\s+(?!type\s)(?:[^'"`;]*?\sfrom\s+)?'([^']+)'/gm,
  )
  for (const [, target = ''] of imports) {
    loadedWith(target.startsWith('.') ? resolve(dirname(file), target) : target, loaded)
  }
  return loaded
}

it('the daemon loads no viem, which takes 50 MB: only a child does that has a chain to read', () => {
  const viemIn = (file: string) => [...loadedWith(join(root, file))].filter(one => /^viem\b/.test(one))
  expect(viemIn('src/app/daemon.ts')).toEqual([])
  expect(viemIn('src/chain/read/reader.ts')).toEqual([])
  expect(viemIn('src/runner/child/typed-reads.ts')).toContain('viem/utils')
})
