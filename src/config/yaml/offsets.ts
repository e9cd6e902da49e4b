import { type Document, isMap, isNode, isScalar, isSeq, type Node, type Pair, visit, type YAMLMap } from 'yaml'

/** Offsets of a part of a document: its key and its value. */
interface DocumentPart {
  readonly key?: Node
  readonly value?: Node
}

/** Offset of the nearest existing part of a path: a scalar's own; for maps, lists and empty values, their key's. */
export function offsetOf(document: Document.Parsed, path: readonly PropertyKey[], at: 'key' | 'value'): number {
  let found: DocumentPart = isNode(document.contents) ? { value: document.contents } : {}
  for (const [index, step] of path.entries()) {
    const next = childOf(found.value, step)
    if (!next) return startOf(found, 'value')
    if (index === path.length - 1) return startOf(next, at)
    found = next
  }
  return startOf(found, at)
}

/**
 * Renames the key at a path in the document's value; its place stays.
 * @returns false when the map has the new name already
 */
export function renameKey(document: Document.Parsed, path: readonly PropertyKey[], name: string): boolean {
  let node: Node | undefined = isNode(document.contents) ? document.contents : undefined
  for (const step of path.slice(0, -1)) node = childOf(node, step)?.value
  const key = childOf(node, path.at(-1) ?? '')?.key
  if (!isMap(node) || !isScalar(key) || childOf(node, name)) return false
  key.value = name
  pairsByName.delete(node)
  return true
}

/** A duplicate key and the first of its name, as offsets. */
export interface Duplicate {
  /** Offset of the duplicate key. */
  readonly again: number
  /** Offset of the first key of that name. */
  readonly first: number
}

/** Finds duplicate keys. The parser's own check compares each key with every other. */
export function duplicateKeys(document: Document.Parsed): Duplicate[] {
  const found: Duplicate[] = []
  visit(document, {
    Map: (_, { items }) => {
      const firstByName = new Map<unknown, number>()
      for (const { value, range } of items.map(({ key }) => key).filter(isScalar)) {
        const [at = 0, first] = [range?.[0], firstByName.get(value)]
        if (first === undefined) firstByName.set(value, at)
        else found.push({ again: at, first })
      }
    },
  })
  return found
}

function childOf(node: Node | undefined, step: PropertyKey): DocumentPart | undefined {
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step]
    return isNode(item) ? { value: item } : undefined
  }
  if (!isMap(node)) return undefined
  const pair = pairsOf(node).get(String(step))
  if (!pair) return undefined
  return { ...(isNode(pair.key) && { key: pair.key }), ...(isNode(pair.value) && { value: pair.value }) }
}

/** Pairs of maps by key, cached so that thousands of keys are found fast. */
const pairsByName = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()

function pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
  const known = pairsByName.get(map)
  if (known) return known
  // The last one counts for a duplicate key, as in the value.
  const pairs = new Map(map.items.flatMap(pair => (isScalar(pair.key) ? [[String(pair.key.value), pair]] : [])))
  pairsByName.set(map, pairs)
  return pairs
}

function startOf({ key, value }: DocumentPart, at: 'key' | 'value'): number {
  const isShown = isScalar(value) && value.source !== '' && value.source !== undefined
  const node = at === 'value' && isShown ? value : (key ?? value)
  return node?.range?.[0] ?? 0
}

const closers: Readonly<Record<string, string>> = { '"': '"', "'": "'", '[': ']', '{': '}' }

/** Offset of the last bracket or quote before `end` that is not closed there. */
export function openingBefore(document: Document.Parsed, text: string, end: number): number {
  let opening = -1
  visit(document, (_, node) => {
    if (!isNode(node) || !node.range) return
    const [start, valueEnd, nodeEnd] = node.range
    const closer = closers[text[start] ?? '']
    const isOpen = closer !== undefined && (text[valueEnd - 1] !== closer || valueEnd - 1 === start)
    if (isOpen && start <= end && end <= nodeEnd + 1) opening = Math.max(opening, start)
  })
  return opening < 0 ? end : opening
}
