// Words and phrases of the private idiom that plain technical English replaces. Data only: `figures.ts` counts them.

export interface Idiom {
  readonly name: string
  readonly pattern: RegExp
}

/** Each pattern is tuned so that the usual term (a graph neighbour, "RFC 9110 says", `floor(x)`) does not match. */
export const idioms: readonly Idiom[] = [
  // Subjects that hide who acts.
  { name: 'whoever', pattern: /\bwho(?:so)?ever\b/i },
  { name: 'nobody', pattern: /\b(?:nobody|somebody|anybody)\b/i },
  { name: 'what … (subject)', pattern: /(?:^|[.:;]\s)What (?!(?:if|follows|does|do|did)\b)[^?]*$/ },
  { name: 'is what', pattern: /\b(?:is|are|was|were) what\b/i },
  { name: 'that which', pattern: /\b(?:that|those) which\b|\bhe who\b|\bone who\b/i },
  // Negation in place of a term.
  { name: 'is none', pattern: /(?<!\bif there )\b(?:is|are|was|were) none\b(?! of)/i },
  { name: 'is no … (noun)', pattern: /\b(?:is|are) no (?:fault|secret|failure|proof|promise|word|member|part)\b/i },
  { name: 'nothing of', pattern: /\bnothing of (?:it|them|the|what)\b/i },
  { name: 'is not to', pattern: /\b(?:is|are) (?:not )?to be (?:had|told|found|seen|said)\b/i },
  // Verbs of speech and of the senses for code.
  { name: 'told', pattern: /\btold\b/i },
  { name: 'tells', pattern: /\btell(?:s|ing)?\b/i },
  { name: 'says', pattern: /(?<!\bRFC \d{3,5} )(?<!\bspecification )(?<!\bspec )\bsa(?:ys|id|ying)\b/i },
  { name: 'speaks', pattern: /\bspeak(?:s|ing)?\b|\bspok(?:e|en)\b/i },
  { name: 'asked of', pattern: /\basked (?:of|about|again|for by)\b|\basks (?:of|after|again|nobody|whether)\b/i },
  { name: 'hears', pattern: /\bhears?\b|\bheard\b/i },
  { name: 'knows of', pattern: /\bknow(?:s|n)? (?:of|nothing|nobody|no)\b/i },
  { name: 'word of', pattern: /\b(?:own|takes?|its|their) words?\b(?! (?:list|of memory|size))/i },
  { name: 'answers for', pattern: /\banswers? for (?:it|them|her|him)sel(?:f|ves)\b/i },
  { name: 'takes part', pattern: /\btakes? (?:no )?part\b/i },
  // Buildings and the like.
  { name: 'house', pattern: /\bhouses?\b/i },
  { name: 'room', pattern: /\brooms?\b/i },
  { name: 'floor', pattern: /\bfloors\b|\bfloor\b(?!\s*\()/i },
  { name: 'gate', pattern: /\bgates?\b/i },
  { name: 'door', pattern: /\bdoors?\b|\bdoorway\b/i },
  { name: 'shelf', pattern: /\bshel(?:f|ves)\b/i },
  { name: 'neighbourly', pattern: /\bneighbourly\b|\bneighbourhood\b/i },
  { name: 'patience', pattern: /\bpatien(?:ce|t|tly)\b|\bimpatient\b/i },
  { name: 'crew', pattern: /\bcrews?\b|\bmourn/i },
  { name: 'turnstile', pattern: /\bturnstiles?\b|\bpassage\b/i },
  { name: 'blink', pattern: /\bblink\b/i },
  { name: 'campaign', pattern: /\bcampaigns?\b/i },
  { name: 'sleeping', pattern: /\basleep\b|\bcaught sleeping\b/i },
  // Prepositions and adverbs.
  { name: 'beside', pattern: /\bbesides?\b/i },
  { name: 'meanwhile', pattern: /\bmeanwhile\b/i },
  {
    name: 'behind',
    pattern:
      /(?<!\b(?:leav|left|further)\w*\b.{0,40})\bbehind\b(?! (?:a |the |an )?(?:reverse |load |TLS |HTTP |nginx|proxy|balancer))/i,
  },
  { name: 'in the place of', pattern: /\bin (?:the|its|their) place\b(?! where)/i },
  { name: 'at one moment', pattern: /\bof one moment\b|\bat one moment\b|\bby then\b|\bno moment\b/i },
  { name: 'for as long as', pattern: /\bfor as long as\b/i },
  { name: 'after so long', pattern: /\bafter so long\b|\bso long as\b/i },
  { name: 'thereby', pattern: /\bthere(?:by|of|with|upon|in)\b|\bhere(?:by|of|with)\b|\bwhere(?:of|with|by|upon)\b/i },
  { name: 'seldom', pattern: /\bseldom\b|\blest\b|\banew\b/i },
  // Turns of phrase.
  { name: 'becomes of', pattern: /\bbec(?:ame|omes?) of\b/i },
  { name: 'made good', pattern: /\bmade good\b|\bmakes? good\b/i },
  { name: 'in step', pattern: /\bin step\b/i },
  { name: 'goes on', pattern: /\bgo(?:es|ing)? on\b|\bwent on\b/i },
  { name: 'stands', pattern: /\bstand(?:s|ing)?\b(?! (?:for|in for|still|alone))|\bstood\b/i },
  { name: 'holds still', pattern: /\bstand still\b|\bhold(?:s)? still\b|\bkeeps? still\b/i },
  { name: 'is over', pattern: /\b(?:is|are|was) over\b(?! (?:the|batch|all)\b)/i },
  { name: 'comes of', pattern: /\bcomes? of\b|\bcame of\b/i },
  { name: 'the one that', pattern: /\bis one that\b|\bare ones? that\b|\bof theirs\b/i },
  { name: 'ready-made figure', pattern: /\bin vain\b|\bgood for\b|\bof old\b/i },
]

/** Citations of documents that a reader of this repository cannot open. */
export const outsideCitations: readonly RegExp[] = [
  /\brulings? [A-Z]\d+/i,
  /\bfacts? \d+\.\d+/i,
  /(?:[(;]\s*|^\s*)interface(?:\.md)?,\s+[a-z]/i,
  /\b(?:decisions|execute|search|capture|batch|config|mcp|tokens?),? rules? \d+/i,
  /(?<![-\w])(?:rulings|facts|interface|house|models|libraries|renovation|style)\.md\b/i,
]
