// Icons of our own on a 20 × 20 grid, stroke 1.6: nobody's trademark, no request.
export const ICONS = {
  parley:
    '<path d="M3 5.5A2.5 2.5 0 0 1 5.5 3h6A2.5 2.5 0 0 1 14 5.5v3A2.5 2.5 0 0 1 11.5 11H8l-3.2 2.600V11A2.5 2.5 ' +
    '0 0 1 3 8.500z" fill="currentColor" stroke="none"/><path d="M16.2 7.200A2.5 2.5 0 0 1 17.5 9.400v2.400a2.5 ' +
    '2.5 0 0 1-1.9 2.400v2.300L12.7 14.300H9.8"/>',
  model:
    '<rect x="4.5" y="4.5" width="11" height="11" rx="2.5"/><path d="M8 2v2.500M12 2v2.500M8 15.500V18M12 ' +
    '15.500V18M2 8h2.500M2 12h2.500M15.5 8H18M15.5 12H18"/>',
  theme: '<circle cx="10" cy="10" r="6.5"/><path d="M10 3.500a6.5 6.5 0 0 1 0 13z" fill="currentColor"/>',
  more:
    '<g fill="currentColor" stroke="none"><circle cx="4.5" cy="10" r="1.5"/><circle cx="10" cy="10" r="1.5"/>' +
    '<circle cx="15.5" cy="10" r="1.5"/></g>',
  down: '<path d="m5.5 8 4.5 4.500L14.5 8"/>',
  back: '<path d="M12 4.5 6.5 10l5.5 5.5"/>',
  redo: '<path d="M15.8 8.200A6.2 6.2 0 1 0 16 12M16 4v4.300h-4.3"/>',
  bolt: '<path d="M11 2.5 4.5 11.500H9.500L8.5 17.5 15.5 8.500H10.500z"/>',
  log: '<path d="M4 5h12M4 10h12M4 15h7"/>',
  wire: '<path d="M2.5 7h11M10.5 4l3 3-3 3M17.5 13h-11M9.5 10l-3 3 3 3"/>',
  turn:
    '<circle cx="5" cy="5" r="2"/><circle cx="5" cy="15" r="2"/><circle cx="15" cy="10" r="2"/><path d="M5 7v6M7 ' +
    '5h3.500A2.5 2.5 0 0 1 13 7.500V9M7 15h3.500a2.5 2.5 0 0 0 2.5-2.500V11"/>',
  fault: '<path d="M10 3 2.5 16.500h15zM10 8v4"/><circle cx="10" cy="14.3" r=".6" fill="currentColor"/>',
  scene:
    '<rect x="2.5" y="4" width="15" height="12" rx="2.5"/><path d="m8.5 7.5 4 2.5-4 2.500z" fill="currentColor"/>',
  play: '<path d="m6.5 4.5 9 5.5-9 5.500z" fill="currentColor"/>',
  pause: '<path d="M7 5v10M13 5v10" stroke-width="2.6"/>',
  stop: '<rect x="5.5" y="5.5" width="9" height="9" rx="1.5" fill="currentColor"/>',
  close: '<path d="m5 5 10 10M15 5 5 15"/>',
  plus: '<path d="M10 4v12M4 10h12"/>',
  clip:
    '<path d="m15.5 9-5.7 5.700a3.5 3.5 0 0 1-5-5L10.7 4a2.3 2.3 0 0 1 3.3 3.300l-5.8 5.800a1.1 1.1 0 0 ' +
    '1-1.6-1.600L11.5 6.6"/>',
  mic: '<rect x="7.5" y="2.5" width="5" height="9" rx="2.5"/><path d="M4.5 9.500a5.5 5.5 0 0 0 11 0M10 15v2.5"/>',
  send: '<path d="M3.5 10 16.5 4l-4 12.5-3-5z" fill="currentColor" stroke-linejoin="round"/>',
  smile:
    '<circle cx="10" cy="10" r="7"/><path d="M7 12a3.8 3.8 0 0 0 6 0"/><g fill="currentColor" ' +
    'stroke="none"><circle cx="7.5" cy="8.3" r="1"/><circle cx="12.5" cy="8.3" r="1"/></g>',
  reply: '<path d="M8 4.5 3.5 9 8 13.500M4 9h7a5 5 0 0 1 5 5v1.5"/>',
  thread: '<path d="M4 4h12v8.500H9.500L6 15.500v-3H4z"/><path d="M7 7.200h6M7 9.600h4"/>',
  edit: '<path d="m4 16 .8-3.400L13.5 4l2.5 2.5-8.6 8.700z"/>',
  bin: '<path d="M4 6h12M8 6V4h4v2M5.5 6l.8 10h7.400l.8-10"/>',
  tick: '<path d="m4 10.5 4 4 8-9"/>',
  ticks: '<path d="m1.5 10.5 4 4 7.5-9M9.5 14l.5.5 8-9"/>',
  hash: '<path d="M8 3.5 6.5 16.500M13.5 3.5 12 16.500M4 7.500h12.500M3.5 12.500H16"/>',
  list: '<path d="M3.5 5.500h13M3.5 10h13M3.5 14.500h13"/>',
  file: '<path d="M5 2.500h6.500L15.5 6.500V17.500H5zM11.5 2.500v4h4"/>',
  eye: '<path d="M2 10s3-5.5 8-5.500S18 10 18 10s-3 5.5-8 5.500S2 10 2 10z"/><circle cx="10" cy="10" r="2.3"/>',
  home: '<path d="m3 9.5 7-6 7 6M5 8.500v8h10v-8"/>',
  dm: '<path d="M3 4.500h14v9H9l-3.5 3v-3H3z"/>',
  clock: '<circle cx="10" cy="10" r="7"/><path d="M10 6v4l3 2"/>',
  thumbup: '<path d="M7 9.5 10 3c1.5 0 2.3 1 2 2.500L11.5 8h4.200l-1.4 7.500H7zM7 9.500H4v6h3"/>',
  thumbdown: '<path d="M7 10.5 10 17c1.5 0 2.3-1 2-2.500L11.5 12h4.200l-1.4-7.500H7zM7 10.500H4v-6h3"/>',
  at: '<circle cx="10" cy="10" r="3"/><path d="M13 7v4.5a2 2 0 0 0 4 0V10a7 7 0 1 0-2.8 5.6"/>',
  chart: '<path d="M3.500 16.500h13M5.500 13.500v-4M10 13.500v-9M14.500 13.500v-6"/>',
  chats: '<path d="M3 4.500h14v9H9l-3.500 3v-3H3z"/>',
  turns:
    '<circle cx="5" cy="5" r="2"/><circle cx="5" cy="15" r="2"/><circle cx="15" cy="10" r="2"/><path d="M5 7v6M7 ' +
    '5h3.500A2.500 2.500 0 0 1 13 7.500V9M7 15h3.500a2.500 2.500 0 0 0 2.500-2.500V11"/>',
  tools:
    '<path d="M12.800 3.200a4 4 0 0 0-4.700 5.500L3 13.800 6.200 17l5.100-5.100a4 4 0 0 0 5.500-4.700l-2.500 ' +
    '2.400-2.500-.6-.7-2.500z"/>',
  people:
    '<circle cx="7.500" cy="7" r="2.700"/><path d="M2.500 16c.3-3 2.300-4.700 5-4.700s4.700 1.700 5 4.700M13 ' +
    '4.600a2.600 2.600 0 0 1 0 4.900M14.500 11.700c1.700.6 2.800 2.100 3 4.300"/>',
  export: '<path d="M10 12.500V3.500M6.500 6.500 10 3l3.500 3.500M4 11.500v5h12v-5"/>',
  leave: '<path d="M12 4.500V3.500H4v13h8v-1M8.500 10h8M13.500 7l3 3-3 3"/>',
};
