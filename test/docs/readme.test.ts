import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { command } from '../support/command.ts'
import { configured } from '../support/tidegauge.ts'

const textOf = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const readme = textOf('README.md')

const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code)

it('is a front page: at most 8,000 bytes', () => {
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(8_000)
})

it('shows a configuration that is in order, embedded and with a service', async () => {
  const [numbers = '', service = '', ...none] = blocks(readme, 'yaml')
  expect(none).toEqual([])
  for (const yaml of [numbers, numbers.replace(/^service: embedded.*\n/, service)]) {
    const { code, stdout, stderr } = await command(['check', '--config', configured(yaml).config])
    expect(stdout, stderr).toContain('my-protocol___Supply')
    expect(code).toBe(0)
  }
})

it('shows the collector of the first hour, which a test runs', () => {
  expect(blocks(readme, 'ts')).toEqual(blocks(textOf('docs/tutorial.md'), 'ts'))
})

it('names the file that npm pack makes', () => {
  const { name, version } = JSON.parse(textOf('package.json')) as { name: string; version: string }
  for (const text of [readme, textOf('docs/install.md')]) {
    expect([...text.matchAll(/\w+-[\w.-]+\.tgz/g)].map(([file]) => file)).toEqual(
      Array.from({ length: 2 }, () => `${name}-${version}.tgz`),
    )
  }
})
