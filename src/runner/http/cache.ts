import { createHash } from 'node:crypto'
import { httpCacheBytesMax, httpCacheEntriesMax } from '../limits.ts'

/** An answer with the tag its source gave it. */
export interface TaggedAnswer {
  readonly etag: string
  readonly text: string
}

/** What an answer says about being kept. */
export interface Keeping {
  readonly etag: string | undefined
  readonly cacheControl: string | undefined
}

/**
 * Answers to ask about again with `If-None-Match`. None is ever used without asking the source first; the least recently
 * used go when there are too many.
 */
export interface AnswerCache {
  get(key: string): TaggedAnswer | undefined
  /** Keeps an answer under its tag, or forgets the one before it when there is no tag or it is not to be kept. */
  put(key: string, text: string, keeping: Keeping): void
  forget(key: string): void
}

/** Bounds of a cache. */
export interface CacheBounds {
  readonly entriesMax: number
  readonly bytesMax: number
}

/** Same URL and same headers: same key. A digest, so that no key of the caller is kept longer than its request. */
export function cacheKey({ href }: URL, headers: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([href.replace(/#.*$/, ''), sorted]))
    .digest('base64')
}

/** Whether `Cache-Control` forbids to keep an answer. */
export function forbidsStoring(cacheControl: string | undefined): boolean {
  return /(^|[\s,])no-store($|[\s,=])/i.test(cacheControl ?? '')
}

/** Whether two tags mean the same answer; the mark of a weak one does not count here (RFC 9110, 13.1.2). */
export function sameTag(a: string, b: string): boolean {
  return a.replace(/^W\//, '') === b.replace(/^W\//, '')
}

const tagPattern = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/

/** Makes an empty cache. */
export function createAnswerCache(bounds?: CacheBounds): AnswerCache {
  const { entriesMax, bytesMax } = bounds ?? { entriesMax: httpCacheEntriesMax, bytesMax: httpCacheBytesMax }
  const entries = new Map<string, TaggedAnswer & { readonly bytes: number }>()
  let bytesHeld = 0

  function forget(key: string): void {
    bytesHeld -= entries.get(key)?.bytes ?? 0
    entries.delete(key)
  }

  return {
    forget,
    get(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      // A map keeps the order in which entries came: the first is the least recently used.
      entries.delete(key)
      entries.set(key, entry)
      return entry
    },
    put(key, text, { etag, cacheControl }) {
      forget(key)
      const bytes = Buffer.byteLength(text)
      if (etag === undefined || !tagPattern.test(etag) || forbidsStoring(cacheControl) || bytes > bytesMax) return
      entries.set(key, { etag, text, bytes })
      bytesHeld += bytes
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax && bytesHeld <= bytesMax) return
        forget(oldest)
      }
    },
  }
}
