// The words of choosing the picture of a person, a bot or an organisation.

/** @type {import('../../text/words.js').Area} */
export default {
  person: 'Picture',
  logo: 'Logo',
  choose: 'Choose a picture',
  change: 'Choose another picture',
  remove: 'Remove the picture',
  unreadable: 'This file can’t be read as a picture. Choose a JPEG, PNG, GIF or WebP file.',
  cropTitle: 'Choose the part to show',
  cropLabel: 'The part that others will see',
  cropHint: 'Drag the picture, or move it with the arrow keys.',
  cropZoom: 'Size',
  cropSave: 'Use this part',
}
