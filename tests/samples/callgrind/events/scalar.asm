
/build/toy:     file format elf64-x86-64


Disassembly of section .text:

0000000000001330 <_Z5countj.constprop.0>:
    1330:	lea    0x3d89(%rip),%rax        # 50c0 <_ZL6values>
    1337:	xor    %ecx,%ecx
    1339:	lea    0x1000(%rax),%rsi
    1340:	jmp    135c <_Z5countj.constprop.0+0x2c>
    1342:	nopw   0x0(%rax,%rax,1)
    1348:	cmp    $0x7,%edx
    134b:	sete   %dl
    134e:	add    $0x4,%rax
    1352:	movzbl %dl,%edx
    1355:	add    %edx,%ecx
    1357:	cmp    %rsi,%rax
    135a:	je     1366 <_Z5countj.constprop.0+0x36>
    135c:	mov    (%rax),%edx
    135e:	cmp    $0x7d7,%edx
    1364:	jbe    1348 <_Z5countj.constprop.0+0x18>
    1366:	mov    %ecx,%eax
    1368:	ret

/build/toy:     file format elf64-x86-64


Disassembly of section .text:

0000000000001300 <_Z6followj.constprop.0>:
    1300:	xor    %edx,%edx
    1302:	mov    $0x3,%eax
    1307:	lea    0x2db2(%rip),%rcx        # 40c0 <_ZL5table>
    130e:	xchg   %ax,%ax
    1310:	mov    (%rcx,%rax,4),%esi
    1313:	add    %edx,%esi
    1315:	add    $0x1,%edx
    1318:	mov    %esi,%eax
    131a:	and    $0x3ff,%eax
    131f:	cmp    $0xc8,%edx
    1325:	jne    1310 <_Z6followj.constprop.0+0x10>
    1327:	ret
