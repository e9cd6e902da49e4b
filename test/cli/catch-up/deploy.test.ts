import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { collectCommand } from '../../../src/cli/commands/collect.ts'
import { temporaryFolder } from '../../support/folder.ts'

const folder = new URL('../../../docs/deploy/', import.meta.url).pathname
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const yamlOf = (name: string) => {
  const documents = parseAllDocuments(textOf(name))
  expect(documents.flatMap(({ errors }) => errors)).toEqual([])
  return documents.map(document => document.toJS())
}

/** The words of a command behind its name. */
const wordsOf = (line: string) =>
  line
    .trim()
    .split(/ +tidegauge +/)[1]
    ?.split(' ') ?? []

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, string>>
}

const [workflow] = yamlOf('github-actions.yml')
const [claim, cronJob] = yamlOf('kubernetes-cronjob.yaml')
const pod = cronJob.spec.jobTemplate.spec.template.spec
const steps: readonly Step[] = workflow.jobs['catch-up'].steps
const commands: readonly (readonly [string, readonly string[]])[] = [
  ['github-actions.yml', steps.flatMap(({ run = '' }) => (run.startsWith('npx') ? wordsOf(run) : []))],
  ['tidegauge-catch-up.service', wordsOf(/^ExecStart=(.*)$/m.exec(textOf('tidegauge-catch-up.service'))?.[1] ?? '')],
  ['kubernetes-cronjob.yaml', pod.containers[0].args],
]

describe('the files for a schedule', () => {
  it.each(commands)('%s has a command line that is accepted', async (_, [name = '', ...words]) => {
    expect(words).toContain('--catch-up')
    expect(name).toBe('collect')
    let asked: unknown
    const command = collectCommand().exitOverride()
    command.action(options => {
      asked = options
    })
    await command.parseAsync([...words], { from: 'user' })
    expect(asked).toMatchObject({ catchUp: true, config: expect.stringMatching(/tidegauge\.yaml$/) })
  })

  it('the volumes of the CronJob are those that it mounts, and its claim is made', () => {
    const names = (list: readonly { name: string }[]) => list.map(({ name }) => name).sort()
    expect(names(pod.volumes)).toEqual(names(pod.containers[0].volumeMounts))
    const data = pod.volumes.find(({ name }: { name: string }) => name === 'data')
    expect(data.persistentVolumeClaim.claimName).toBe(claim.metadata.name)
    expect(cronJob).toMatchObject({ apiVersion: 'batch/v1', spec: { concurrencyPolicy: 'Forbid' } })
  })

  it('the workflow saves the cache that it restores', () => {
    const caches = steps.filter(({ uses = '' }) => uses.startsWith('actions/cache/'))
    const [restoring, saving] = caches.map(({ uses = '' }) => uses.split('@'))
    expect([restoring?.[0], saving?.[0]]).toEqual(['actions/cache/restore', 'actions/cache/save'])
    // Pinned, both by one commit: a tag can be moved.
    expect(restoring?.[1]).toMatch(/^[0-9a-f]{40}$/)
    expect(saving?.[1]).toBe(restoring?.[1])
    const [restored, saved] = caches.map(step => step.with)
    expect(saved?.['key']).toBe(restored?.['key'])
    expect(restored?.['key']?.startsWith(restored?.['restore-keys'] ?? 'x')).toBe(true)
  })

  it.runIf(existsSync('/usr/bin/systemd-analyze'))(
    'systemd takes the units, and finds their services little exposed',
    () => {
      const units = temporaryFolder()
      const names = readdirSync(folder).filter(name => /\.(service|timer)$/.test(name))
      for (const name of names) copyFileSync(join(folder, name), join(units, name))
      const paths = names.map(name => join(units, name))
      expect(names).toHaveLength(3)
      const said = execFileSync('systemd-analyze', ['verify', '--man=no', ...paths], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      expect(said).toBe('')
      for (const path of paths.filter(name => name.endsWith('.service'))) {
        const judged = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', path], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        expect(Number(/exposure level for [^:]+: (\d+\.\d+)/.exec(judged)?.[1]), path).toBeLessThanOrEqual(2.5)
      }
    },
  )
})
