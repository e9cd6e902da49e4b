import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

// The documents stay as they are read in the repository: they are copied to where the packages of the generator are found, and
// links to files that are no pages lead to the repository.

const root = fileURLToPath(new URL('../..', import.meta.url))
const { repository, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const repositoryUrl: string = repository.url.replace(/^git\+|\.git$/g, '')
const [, owner = '', name = ''] = /github\.com\/([^/]+)\/([^/]+)$/.exec(repositoryUrl) ?? []

/** Addresses below which the site is published. */
const base = `/${name}/`
const siteUrl = `https://${owner.toLowerCase()}.github.io${base}`

/** Groups of pages in the order of the sidebar; each page is in the first that has it. */
const groups: readonly (readonly [title: string, pattern: string])[] = [
  ['Begin', '{README,docs/README,docs/tutorial,docs/concepts,docs/install}.md'],
  [
    'Values',
    '{docs/collectors,docs/write-a-collector,docs/collectors-of-others,docs/nodes,collectors/README,docs/configuration,docs/SKILL}.md',
  ],
  ['Recipes', '{examples/README,docs/recipes/**/*}.md'],
  ['Coming from', 'docs/coming-from/*.md'],
  ['Operate', 'docs/*.md'],
  ['Deploy', 'docs/deploy/**/*.md'],
  ['Runbooks', 'docs/runbooks/*.md'],
  ['Project', '{CHANGELOG,ARCHITECTURE,CONTRIBUTING,SECURITY,src/reference/README}.md'],
  ['Decisions', 'docs/decisions/*.md'],
]

interface Page {
  readonly file: string
  readonly title: string
  /** Its first paragraph. */
  readonly about: string
}

const seen = new Set<string>()
const pages = groups.map(([title, pattern]) => {
  const files = globSync(pattern, { cwd: root }).filter(file => !seen.has(file))
  for (const file of files) seen.add(file)
  return { title, pages: files.sort().map(pageOf) }
})

function pageOf(file: string): Page {
  const text = readFileSync(join(root, file), 'utf8')
  const [, title = file] = /^# (.+)$/m.exec(text) ?? []
  const about = text.split(/\n{2,}/).find(part => /^[A-Z*]|^`(?!``)/.test(part)) ?? ''
  return {
    file,
    title: title.replaceAll('`', ''),
    about: about.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\s+/g, ' '),
  }
}

const copies = fileURLToPath(new URL('../pages', import.meta.url))
rmSync(copies, { recursive: true, force: true })
for (const file of seen) {
  const images = readFileSync(join(root, file), 'utf8').matchAll(/!\[[^\]]*\]\(([^):]+)\)/g)
  for (const one of [file, ...[...images].map(([, image = '']) => posix.join(dirname(file), image))]) {
    mkdirSync(dirname(join(copies, one)), { recursive: true })
    copyFileSync(join(root, one), join(copies, one))
  }
}

/** The address of a page, below `base`. */
function pathOf(file: string): string {
  return `/${file.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')}`
}

/** A link of a document: to a page of the site, or to the file in the repository. */
function linkFrom(file: string, href: string): string {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.normalize(posix.join(dirname(file), path)).replace(/\/$/, '')
  const hash = anchor === undefined ? '' : `#${anchor}`
  const page = [target, posix.join(target, 'README.md')].find(one => seen.has(one))
  if (page) return `${pathOf(page)}${hash}`
  if (!existsSync(join(root, target))) throw new Error(`${file}: ${href} leads to nothing`)
  return `${repositoryUrl}/blob/main/${target}${hash}`
}

/** As GitHub names headings, by which the documents link. */
function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

/** https://llmstxt.org: what there is, with an address and a sentence each. */
function llmsText(): string {
  const lines = pages.flatMap(group => [
    `\n## ${group.title}\n`,
    ...group.pages.map(({ file, title, about }) => `- [${title}](${siteUrl}${pathOf(file).slice(1)}): ${about}`),
  ])
  return `# Tidegauge\n\n> ${description}\n${lines.join('\n')}\n`
}

export default defineConfig({
  title: 'Tidegauge',
  description,
  base,
  srcDir: './pages',
  outDir: './dist',
  cacheDir: './.vitepress/cache',
  cleanUrls: true,
  rewrites: id => id.replace(/(^|\/)README\.md$/, '$1index.md'),
  lastUpdated: false,
  markdown: {
    html: false,
    anchor: { slugify: slugOf },
    config(md) {
      // Braces are text, not expressions of Vue.
      const { text, code_inline } = md.renderer.rules
      const braces = (html: string) => html.replaceAll('{{', '&#123;&#123;')
      md.renderer.rules.text = (...rendered) => braces(text?.(...rendered) ?? '')
      md.renderer.rules.code_inline = (...rendered) => braces(code_inline?.(...rendered) ?? '')
      md.core.ruler.push('links', ({ env, tokens }) => {
        const file = posix.relative(copies, env.path)
        for (const { children } of tokens) {
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (href !== null) token.attrSet('href', linkFrom(file, href))
          }
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repositoryUrl }],
    outline: [2, 3],
    sidebar: pages.map(group => ({
      text: group.title,
      collapsed: group.pages.length > 12,
      items: group.pages.map(({ file, title }) => ({ text: title, link: pathOf(file) })),
    })),
    editLink: { pattern: `${repositoryUrl}/edit/main/:path` },
  },
  buildEnd({ outDir }) {
    writeFileSync(join(outDir, 'llms.txt'), llmsText())
  },
})
