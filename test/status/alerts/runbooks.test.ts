import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { alerts } from './rules.ts'

const root = new URL('../../../', import.meta.url)
const folder = new URL('docs/runbooks/', root)
const textOf = (name: string) => readFileSync(new URL(name, folder), 'utf8')
const names = alerts.map(({ alert }) => alert)

describe('the runbooks', () => {
  it('are a page for each alert, and an alert for each page', () => {
    const pages = readdirSync(folder).filter(name => name !== 'README.md')
    expect(pages.sort()).toEqual(names.map(name => `${name}.md`).sort())
  })

  it.each(alerts)('of $alert are where it says, and say what, whose, how to see it and what to do', alert => {
    const { runbook_url } = alert.annotations
    expect(runbook_url).toBe(`docs/runbooks/${alert.alert}.md`)
    expect(existsSync(fileURLToPath(new URL(runbook_url, root)))).toBe(true)
    const text = textOf(`${alert.alert}.md`)
    expect(text.split('\n')[0]).toMatch(new RegExp(`^# ${alert.alert}: `))
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['What it means', 'Whose fault it is', 'How to see it', 'What to do'])
    expect(text.split('\n').length, 'a page is read in a minute').toBeLessThan(40)
  })

  it.each(names)('of %s name commands that there are', name => {
    const program = readFileSync(new URL('src/cli/commands/program.ts', root), 'utf8')
    const commands = [...textOf(`${name}.md`).matchAll(/`tidegauge ([a-z-]+)/g)].map(([, command]) => command)
    expect(commands.length).toBeGreaterThan(0)
    for (const command of commands) expect(program).toMatch(new RegExp(`^  '?${command}'?: async`, 'm'))
  })

  it('are listed, all of them, in the order of the alerts', () => {
    const listed = [...textOf('README.md').matchAll(/^\| \[(\w+)\]\(\1\.md\)/gm)].map(([, name]) => name)
    expect(listed).toEqual(names)
  })
})
