import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const documents = globSync('**/*.md', {
  cwd: root,
  exclude: path => path.includes('node_modules') || path.startsWith('dist') || path.startsWith('site/pages'),
})

/** The text without what is shown as code. */
const prose = (markdown: string) => markdown.replace(/^(`{3,}|~{3,})[\s\S]*?^\1/gm, '').replace(/`[^`\n]*`/g, '`')

/** The anchor that a heading gets on the usual hosts of code. */
const anchorOf = (heading: string) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

function anchorsOf(file: string): ReadonlySet<string> {
  const text = readFileSync(file, 'utf8').replace(/^(`{3,}|~{3,})[\s\S]*?^\1/gm, '')
  return new Set([...text.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)))
}

/** Links of a document that lead nowhere. */
function brokenLinks(document: string): string[] {
  const text = prose(readFileSync(join(root, document), 'utf8'))
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter(link => {
    if (/^[a-z]+:/.test(link)) return !/^(https|mailto):/.test(link)
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? join(root, document) : join(root, dirname(document), path)
    if (!existsSync(file)) return true
    return anchor !== undefined && (statSync(file).isDirectory() || !anchorsOf(file).has(anchor))
  })
}

it.each(documents)('every link of %s leads somewhere', document => {
  expect(brokenLinks(document)).toEqual([])
})

it('there are documents, and links in them', () => {
  expect(documents.length).toBeGreaterThan(15)
  expect(brokenLinks('README.md')).toEqual([])
})
