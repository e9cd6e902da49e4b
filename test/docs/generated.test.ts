import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { generated } from './generated.ts'

it.each(Object.entries(await generated()))(
  'docs/%s is what its source says: node test/docs/generate.ts',
  (file, text) => {
    const url = new URL(`../../docs/${file}`, import.meta.url)
    expect(existsSync(url) ? readFileSync(url, 'utf8') : '').toBe(text)
  },
)
