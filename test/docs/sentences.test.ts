import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Generated pages repeat what their source says of several keys; recipes have one form. */
const formed = /^docs\/((cli|configuration|collectors|errors)\.md|recipes\/)/
const pages = ['README.md', 'SECURITY.md', 'collectors/README.md', ...globSync('docs/**/*.md', { cwd: root })]

/** Sentences of a page's prose, without links and marks. A shorter one may well be needed twice. */
function sentencesOf(page: string, wordsMin = 8): string[] {
  const prose = readFileSync(`${root}/${page}`, 'utf8')
    .replace(/^(`{3,})[\s\S]*?^\1/gm, '')
    .replace(/^[|#].*$/gm, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const sentences = prose.split(/\n\s*\n|\n- |(?<=[.:;])\s+/).map(text => text.replace(/[`*\s]+/g, ' ').trim())
  return [...new Set(sentences)].filter(sentence => sentence.split(' ').length >= wordsMin)
}

it('no sentence stands on two pages: one of them would come to say something else', () => {
  const found = new Map<string, string>()
  const twice: string[] = []
  for (const page of pages.filter(each => !formed.test(each))) {
    for (const sentence of sentencesOf(page)) {
      const other = found.get(sentence)
      if (other !== undefined) twice.push(`${other} and ${page}: ${sentence}`)
      found.set(sentence, page)
    }
  }
  expect(found.size).toBeGreaterThan(500)
  expect(twice).toEqual([])
})
