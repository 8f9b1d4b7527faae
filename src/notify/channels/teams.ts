import type { Channel, ChannelOptions, OutgoingMessage } from '../channel.js'
import { accepted } from '../http-channel.js'
import { post } from '../post.js'

const COLOURS = { bad: 'Attention', good: 'Good', neutral: 'Default' } as const

/** A webhook of a workflow in Microsoft Teams, which takes an adaptive card. */
export function teamsChannel(config: { readonly url: string }, { allowed }: ChannelOptions): Channel {
  const url = new URL(config.url)
  return {
    type: 'teams',
    host: url.host,
    async send({ text, signal }: OutgoingMessage) {
      // RichTextBlock shows plain text; a TextBlock would read Markdown, and with it links, from an error message.
      const line = (words: string, style: object = {}) => ({
        type: 'RichTextBlock',
        inlines: [{ type: 'TextRun', text: words, ...style }],
      })
      const card = {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [
          line(text.title, { weight: 'Bolder', size: 'Medium', color: COLOURS[text.tone] }),
          ...text.lines.map((words) => line(words)),
        ],
        actions: [{ type: 'Action.OpenUrl', title: 'Open in Vitrina', url: text.link }],
      }
      const attachment = {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: card,
      }
      const body = JSON.stringify({ type: 'message', attachments: [attachment] })
      return accepted(url, await post({ url, body, headers: {}, allowed, signal }))
    },
  }
}
