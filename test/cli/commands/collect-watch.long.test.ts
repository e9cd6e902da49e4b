import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { configured, start, tidegauge } from '../../support/tidegauge.ts'

const sibling = './level.ts'
const own = (level: string) => `import { defineCollector, z } from 'tidegauge'
import { level } from '${sibling}'
export default defineCollector({
  options: z.strictObject({}), metrics: { Level: {} }, history: true, collect: () => ({ Level: ${level} }),
})
`
const yaml = (id: string) => `service: embedded
protocols:
  - { id: ${id}, name: P, collectors: [{ use: ./own.ts }] }
`

it('collect --watch collects again at each save, whatever is saved and however, until Ctrl-C', async () => {
  const { folder, config } = configured(yaml('p'), { 'own.ts': own('level'), 'level.ts': 'export const level = 1\n' })
  const file = (name: string) => join(folder, 'config', name)
  const child = start(['collect', '--watch', '--only', 'own', '--dry-run', '--config', config], {})
  let text = ''
  let look = () => {}
  const heard = (chunk: Buffer) => {
    text += chunk
    look()
  }
  child.stdout?.on('data', heard)
  child.stderr?.on('data', heard)
  /** Its output up to these words and the end of the turn; from then on it is forgotten. */
  const said = (words: RegExp) =>
    new Promise<string>(resolve => {
      look = () => {
        const isOver = words.test(text) && /watching \d+ files; Ctrl-C ends/.test(text.slice(text.search(words)))
        if (!isOver) return
        look = () => {}
        resolve(text)
        text = ''
      }
      look()
    })
  const level = (value: number) => new RegExp(`p___Level +${value}\\b`)

  await said(level(1))
  writeFileSync(file('level.ts'), 'export const level = 2\n')
  await said(level(2))
  // As many editors save.
  writeFileSync(file('own.ts.tmp'), own('level + 1'))
  renameSync(file('own.ts.tmp'), file('own.ts'))
  await said(level(3))
  writeFileSync(file('own.ts'), own('level + ('))
  await said(/cannot be loaded/)
  writeFileSync(file('own.ts'), own('level + 2'))
  await said(level(4))
  writeFileSync(config, yaml('p').replace('name:', 'nam:'))
  await said(/unknown key "nam"/)
  writeFileSync(config, yaml('p').replace('./own.ts', './own.ts, id: other'))
  await said(/no protocol or collector is called "own"/)
  writeFileSync(config, yaml('q'))
  await said(/q___Level +4\b/)

  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([0, null])
})

it('collect --watch ends with its terminal', async () => {
  const { config } = configured(yaml('p'))
  const child = start(['collect', '--watch', '--dry-run', '--config', config], {})
  const ended = once(child, 'close')
  let text = ''
  for await (const chunk of child.stderr ?? []) {
    text += chunk
    if (text.includes('Ctrl-C ends')) break
  }
  child.kill('SIGHUP')
  expect(await ended).toEqual([0, null])
})

it('collect --watch ends at its start for what no save mends, as without --watch', async () => {
  const { config } = configured(yaml('p'), { 'own.ts': own('1'), 'level.ts': 'export const level = 1\n' })
  const watch = ['collect', '--watch', '--dry-run', '--config']
  expect(await tidegauge([...watch, config, '--only', 'onw'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no protocol or collector is called "onw"'),
  })
  expect(await tidegauge([...watch, `${config}.none`])).toMatchObject({
    code: 78,
    stderr: expect.not.stringContaining('watching'),
  })
})

it('collect --watch sends nothing: it needs --dry-run', async () => {
  const { config } = configured(yaml('p'))
  expect(await tidegauge(['collect', '--watch', '--config', config])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('add --dry-run'),
  })
})
